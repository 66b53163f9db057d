// Is compiled with tsc --strict and the framework's own types, and never run.
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver, interrupt } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, perform, question, resumeAnswered, type Decision } from "wake-client/langgraph";
import { FileStore } from "wake-client/node";
import { z } from "zod";
const approvals = new Approvals(new Wake({ endpoint: "https://x", key: "k", agentId: "a" }), new FileStore("a"));
const schema = z.object({ order: z.string(), cents: z.number() });
const refund = tool(guard(approvals, "refund", async ({ order, cents }: z.infer<typeof schema>) => `Refunded ${cents} for ${order}.`), { name: "refund", description: "Refunds an order.", schema });
const agent = createAgent({ model: "openai:x", tools: [refund], middleware: [humanInTheLoopMiddleware({ interruptOn: { refund: true } })], checkpointer: new MemorySaver() });
async function proceed(thread: string, input: Parameters<typeof agent.invoke>[0]): Promise<void> {
  const { messages } = await agent.invoke(input, { configurable: { thread_id: thread }, durability: "sync" });
  const paused = await park(approvals, agent, thread);
  if (paused.length === 0) console.log(messages.at(-1)?.content);
}
await resumeAnswered(approvals, agent, (thread, answers) => proceed(thread, answers && new Command({ resume: answers })));
export async function node(state: { order: string }, config: any) {
  const args = { order: state.order };
  const decision = interrupt<object, Decision>(question("refund", args));
  return { result: await perform(approvals, config, decision, "refund", args, async () => "x") };
}
