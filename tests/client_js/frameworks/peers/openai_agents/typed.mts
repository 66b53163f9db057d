// Is compiled with tsc --strict and the framework's own types, and never run.
import { Agent, RunState, run, tool } from "@openai/agents";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, resumeAnswered } from "wake-client/openai-agents";
import { FileStore } from "wake-client/node";
import { z } from "zod";
const approvals = new Approvals(new Wake({ endpoint: "https://x", key: "k", agentId: "a" }), new FileStore("a"));
const refund = tool(guard(approvals, (context: { thread: string }) => context.thread, { name: "refund", description: "Refunds an order.", parameters: z.object({ order: z.string(), cents: z.number() }), execute: async ({ order, cents }: {order: string, cents: number}) => `Refunded ${cents} for ${order}.` }));
const agent = new Agent({ name: "Support", tools: [refund] });
async function proceed(thread: string, input: string | RunState<any, typeof agent>): Promise<void> {
  const result = await run(agent, input, { context: { thread } });
  const paused = await park(approvals, thread, result.state);
  if (paused.length === 0) console.log(result.finalOutput);
}
await proceed("a", "b");
await resumeAnswered(approvals, (text) => RunState.fromString(agent, text), proceed);
