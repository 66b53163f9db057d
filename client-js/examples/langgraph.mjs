// A LangChain agent that refunds an order when people approved it.
//
//     node langgraph.mjs start     asks people, and ends
//     node langgraph.mjs resume    goes on with every answered thread; start it regularly
//
// docs/adapters/langgraph-js.md says what to install. Needs WAKE_ENDPOINT, WAKE_API_KEY and
// WAKE_AGENT_ID. The model is a script, and the checkpoints are in a file, so that the example needs
// nothing else. Replace them by a model of a provider, and by a checkpointer such as PostgresSaver.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, resumeAnswered } from "wake-client/langgraph";
import { FileStore } from "wake-client/node";
import { z } from "zod";

const wake = new Wake({
  endpoint: process.env.WAKE_ENDPOINT,
  key: process.env.WAKE_API_KEY,
  agentId: process.env.WAKE_AGENT_ID,
});
const approvals = new Approvals(wake, new FileStore("approvals"), {
  tools: { refund: { irreversible: true } },
});

class FileSaver extends MemorySaver {
  constructor() {
    super();
    if (existsSync("checkpoints")) Object.assign(this, deserialize(readFileSync("checkpoints")));
  }

  async put(...given) {
    const config = await super.put(...given);
    this.#write();
    return config;
  }

  async putWrites(...given) {
    await super.putWrites(...given);
    this.#write();
  }

  #write() {
    writeFileSync("checkpoints", serialize({ storage: this.storage, writes: this.writes }));
  }
}

class Model extends BaseChatModel {
  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const last = messages.at(-1);
    const args = { order: "A-1042", cents: 18000 };
    const call = { type: "tool_call", id: "call-1", name: "refund", args };
    const message = ToolMessage.isInstance(last)
      ? new AIMessage(last.content)
      : new AIMessage({ content: "", tool_calls: [call] });
    return { generations: [{ text: message.content, message }] };
  }
}

const refund = tool(
  guard(approvals, "refund", async ({ order, cents }) => `Refunded ${cents} for ${order}.`),
  {
    name: "refund",
    description: "Refunds an order.",
    schema: z.object({ order: z.string(), cents: z.number() }),
  },
);
const agent = createAgent({
  model: new Model({}),
  tools: [refund],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { refund: true } })],
  checkpointer: new FileSaver(),
});

async function proceed(thread, input) {
  const config = { configurable: { thread_id: thread }, durability: "sync" };
  const { messages } = await agent.invoke(input, config);
  const paused = await park(approvals, agent, thread);
  console.log(
    paused.length ? `${thread} waits for people.` : `${thread}: ${messages.at(-1).content}`,
  );
}

if (process.argv[2] === "start") {
  await proceed("ticket-7", {
    messages: [{ role: "user", content: "Please refund order A-1042." }],
  });
} else {
  await resumeAnswered(approvals, agent, (thread, answers) =>
    proceed(thread, answers && new Command({ resume: answers })),
  );
}
