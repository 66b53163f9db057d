// `start` runs the agent until it pauses. `resume` goes on with every answered thread.
import { Agent, RunState, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { guard, park, resumeAnswered } from "wake-client/openai-agents";
import { z } from "zod";
import { approvals, asked, print, refund, thread } from "./refunds.mjs";

setTracingDisabled(true);

/** Calls the tool once, and then repeats what it heard. */
const model = {
  async getResponse({ input }) {
    const heard = input.filter(({ type }) => type === "function_call_result");
    const text = heard.map(({ output }) => output.text ?? output).join(" ");
    const message = { type: "message", role: "assistant", status: "completed" };
    const call = { type: "function_call", callId: "call-1", name: "refund", status: "completed" };
    const output = heard.length
      ? { ...message, content: [{ type: "output_text", text }] }
      : { ...call, arguments: JSON.stringify(asked) };
    return { output: [output], usage: new Usage() };
  },
};

const options = {
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.string(), cents: z.number() }),
  execute: refund,
  errorFunction: (_, error) => String(error),
};
const agent = new Agent({
  name: "Support",
  model,
  tools: [tool(guard(approvals, (context) => context.thread, options))],
});

async function proceed(thread, input) {
  const result = await run(agent, input, { context: { thread } });
  const paused = await park(approvals, thread, result.state);
  return paused.length ? null : result.finalOutput;
}

const said = {};
if (process.argv[2] === "start") {
  said[thread] = await proceed(thread, "Refund A-1042.");
} else {
  const read = (text) =>
    RunState.fromString(agent, process.env.TAMPER ? text.replaceAll("18000", "9000000") : text);
  await resumeAnswered(approvals, read, async (thread, state) => {
    said[thread] = await proceed(thread, state);
  });
}
print(said);
