// An agent of the OpenAI Agents SDK that refunds an order when people approved it.
//
//     node openai-agents.mjs start     asks people, and ends
//     node openai-agents.mjs resume    goes on with every answered thread; start it regularly
//
// docs/adapters/openai-agents-js.md says what to install. Needs WAKE_ENDPOINT, WAKE_API_KEY and
// WAKE_AGENT_ID. The model is a script, so that the example needs no other key. Leave `model` out to
// use a model of OpenAI.
import { Agent, RunState, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { FileStore } from "wake-client/node";
import { guard, park, resumeAnswered } from "wake-client/openai-agents";
import { z } from "zod";

setTracingDisabled(true);
const wake = new Wake({
  endpoint: process.env.WAKE_ENDPOINT,
  key: process.env.WAKE_API_KEY,
  agentId: process.env.WAKE_AGENT_ID,
});
const approvals = new Approvals(wake, new FileStore("approvals"), {
  tools: { refund: { irreversible: true } },
});

const model = {
  async getResponse({ input }) {
    const last = input.at(-1);
    const message = { type: "message", role: "assistant", status: "completed" };
    const call = { type: "function_call", callId: "call-1", name: "refund", status: "completed" };
    const output =
      last.type === "function_call_result"
        ? { ...message, content: [{ type: "output_text", text: last.output.text }] }
        : { ...call, arguments: JSON.stringify({ order: "A-1042", cents: 18000 }) };
    return { output: [output], usage: new Usage() };
  },
};
const refund = tool(
  guard(approvals, (context) => context.thread, {
    name: "refund",
    description: "Refunds an order.",
    parameters: z.object({ order: z.string(), cents: z.number() }),
    execute: async ({ order, cents }) => `Refunded ${cents} for ${order}.`,
  }),
);
const agent = new Agent({ name: "Support", model, tools: [refund] });

async function proceed(thread, input) {
  const result = await run(agent, input, { context: { thread } });
  const paused = await park(approvals, thread, result.state);
  console.log(paused.length ? `${thread} waits for people.` : `${thread}: ${result.finalOutput}`);
}

if (process.argv[2] === "start") {
  await proceed("ticket-7", "Please refund order A-1042.");
} else {
  await resumeAnswered(approvals, (text) => RunState.fromString(agent, text), proceed);
}
