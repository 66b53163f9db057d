// An agent of Mastra that refunds an order when people approved it.
//
//     node mastra.mjs start     asks people, and ends
//     node mastra.mjs resume    goes on with every answered run; start it regularly
//
// docs/adapters/mastra.md says what to install. Needs WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID.
// The model is a script, so that the example needs no other key. Replace it by a model of a provider.
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, resumeAnswered } from "wake-client/mastra";
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

const model = {
  ...{ specificationVersion: "v2", provider: "scripted", modelId: "scripted", supportedUrls: {} },
  async doGenerate({ prompt }) {
    const last = prompt.at(-1);
    const input = JSON.stringify({ order: "A-1042", cents: 18000 });
    const content =
      last.role === "tool"
        ? { type: "text", text: last.content.map(({ output }) => output.value).join(" ") }
        : { type: "tool-call", toolCallId: "call-1", toolName: "refund", input };
    const finishReason = last.role === "tool" ? "stop" : "tool-calls";
    return { content: [content], finishReason, usage: {}, warnings: [] };
  },
};
const refund = createTool(
  guard(approvals, {
    id: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.string(), cents: z.number() }),
    execute: async ({ order, cents }) => `Refunded ${cents} for ${order}.`,
  }),
);
const support = new Agent({
  id: "support",
  name: "Support",
  instructions: "Help with orders.",
  model,
  tools: { refund },
});
const mastra = new Mastra({
  agents: { support },
  storage: new LibSQLStore({ id: "runs", url: "file:runs.db" }),
});
const agent = mastra.getAgent("support");

async function proceed(runId, result) {
  const paused = await park(approvals, agent, runId);
  console.log(paused.length ? `${runId} waits for people.` : `${runId}: ${result?.text}`);
}

if (process.argv[2] === "start") {
  const runId = "ticket-7";
  await proceed(runId, await agent.generate("Please refund order A-1042.", { runId }));
} else {
  await resumeAnswered(approvals, agent, proceed);
}
process.exit(0);
