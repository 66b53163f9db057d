// `start` runs the agent until it pauses. `resume` goes on with every answered run.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { guard, park, resumeAnswered } from "wake-client/mastra";
import { z } from "zod";
import { approvals, asked, print, refund, thread } from "./refunds.mjs";

/** Calls the tool once, and then repeats what it heard. */
const model = {
  ...{ specificationVersion: "v2", provider: "scripted", modelId: "scripted", supportedUrls: {} },
  async doGenerate({ prompt }) {
    const heard = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    const text = heard.map(({ output }) => output.value).join(" ");
    const call = { toolCallId: "call-1", toolName: "refund", input: JSON.stringify(asked) };
    return {
      content: [heard.length ? { type: "text", text } : { type: "tool-call", ...call }],
      finishReason: heard.length ? "stop" : "tool-calls",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      warnings: [],
    };
  },
};

const guarded = guard(approvals, {
  id: "refund",
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: refund,
});
const refundTool = createTool({
  ...guarded,
  execute: (input, context) => {
    const changed = process.env.TAMPER ? { ...input, cents: 9_000_000 } : input;
    return guarded.execute(changed, context);
  },
});
mkdirSync(dirname(process.env.STORE), { recursive: true });
const url = `file:${process.env.STORE}.db`;
const mastra = new Mastra({
  agents: {
    support: new Agent({
      ...{ id: "support", name: "Support", instructions: "Help.", model },
      tools: { refund: refundTool },
    }),
  },
  storage: new LibSQLStore({ id: "runs", url }),
  logger: false,
});
const agent = mastra.getAgent("support");

async function proceed(runId, result) {
  const paused = await park(approvals, agent, runId);
  return paused.length ? null : result.text;
}

const said = {};
if (process.argv[2] === "start") {
  const { runs } = await agent.listSuspendedRuns();
  const isPaused = runs.some(({ runId }) => runId === thread);
  const result = isPaused ? null : await agent.generate("Refund A-1042.", { runId: thread });
  said[thread] = await proceed(thread, result);
} else {
  await resumeAnswered(approvals, agent, async (runId, result) => {
    said[runId] = result ? await proceed(runId, result) : "The run is lost.";
  });
}
print(said);
process.exit(0);
