// Is compiled with tsc --strict and the framework's own types, and never run.
import { generateText, stepCountIs, tool, type ModelMessage, type LanguageModel } from "ai";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, resumeAnswered } from "wake-client/ai";
import { FileStore } from "wake-client/node";
import { z } from "zod";
declare const model: LanguageModel;
const approvals = new Approvals(new Wake({ endpoint: "https://x", key: "k", agentId: "a" }), new FileStore("a"));
const refund = tool({ description: "Refunds", inputSchema: z.object({ order: z.string(), cents: z.number() }), execute: async ({ order, cents }) => `Refunded ${cents} for ${order}.` });
export async function proceed(thread: string, messages: ModelMessage[]): Promise<void> {
  const tools = guard(approvals, thread, { refund });
  const result = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  const paused = await park(approvals, thread, [...messages, ...result.response.messages]);
  if (paused.length === 0) console.log(result.text);
}
await resumeAnswered(approvals, proceed);
