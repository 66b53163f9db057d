// Is compiled with tsc --strict and the framework's own types, and never run.
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, resumeAnswered } from "wake-client/mastra";
import { FileStore } from "wake-client/node";
import { z } from "zod";
const approvals = new Approvals(new Wake({ endpoint: "https://x", key: "k", agentId: "a" }), new FileStore("a"));
const refund = createTool(guard(approvals, { id: "refund", description: "Refunds an order.", inputSchema: z.object({ order: z.string(), cents: z.number() }), execute: async ({ order, cents }: {order: string, cents: number}) => `Refunded ${cents} for ${order}.` }));
const mastra = new Mastra({ agents: { support: new Agent({ id: "support", name: "Support", instructions: "x", model: "openai/x", tools: { refund } }) }, storage: new LibSQLStore({ id: "runs", url: "file:runs.db" }) });
const agent = mastra.getAgent("support");
async function proceed(runId: string, result: { text: string } | null): Promise<void> {
  const paused = await park(approvals, agent, runId);
  if (paused.length === 0) console.log(result?.text);
}
await proceed("a", await agent.generate("x", { runId: "a" }));
await resumeAnswered(approvals, agent, proceed);
