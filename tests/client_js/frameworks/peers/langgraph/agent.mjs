// `start` runs the agent until it pauses. `resume` goes on with every answered thread.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { guard, park, resumeAnswered } from "wake-client/langgraph";
import { z } from "zod";
import { FileSaver } from "./checkpoints.mjs";
import { approvals, asked, print, refund, thread } from "./refunds.mjs";

/** Calls the tool once, and then repeats what it heard. */
class Model extends BaseChatModel {
  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const heard = messages.filter((message) => ToolMessage.isInstance(message));
    const text = heard.map(({ content }) => content).join(" ");
    const call = { type: "tool_call", id: "call-1", name: "refund", args: asked };
    const message = new AIMessage(heard.length ? text : { content: "", tool_calls: [call] });
    return { generations: [{ text, message }] };
  }
}

const refundTool = tool(guard(approvals, "refund", refund), {
  name: "refund",
  description: "Refunds an order.",
  schema: z.object({ order: z.string(), cents: z.number() }),
});
const agent = createAgent({
  model: new Model({}),
  tools: [refundTool],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { refund: true } })],
  checkpointer: new FileSaver(),
});

async function proceed(thread, input) {
  const config = { configurable: { thread_id: thread }, durability: "sync" };
  const { messages } = await agent.invoke(input, config);
  const paused = await park(approvals, agent, thread);
  return paused.length ? null : messages.at(-1).content;
}

const said = {};
if (process.argv[2] === "start") {
  const { next } = await agent.getState({ configurable: { thread_id: thread } });
  const messages = [{ role: "user", content: "Refund A-1042." }];
  said[thread] = await proceed(thread, next.length ? null : { messages });
} else {
  await resumeAnswered(approvals, agent, async (thread, answers) => {
    if (process.env.TAMPER) {
      for (const { decisions } of Object.values(answers)) {
        const args = { ...asked, cents: 9_000_000 };
        decisions[0] = { type: "edit", editedAction: { name: "refund", args } };
      }
    }
    said[thread] = await proceed(thread, answers && new Command({ resume: answers }));
  });
}
print(said);
