import { Usage } from "@openai/agents";
import { z } from "zod";

globalThis.model = {
  async getResponse() {
    const call = { type: "function_call", callId: "call-1", name: "refund", status: "completed" };
    const given = JSON.stringify({ order: "A-1042", cents: 18000 });
    return { output: [{ ...call, arguments: given }], usage: new Usage() };
  },
};
globalThis.options = {
  name: "refund",
  description: "Refunds an order.",
  parameters: z.object({ order: z.string(), cents: z.number() }),
  execute: async () => "Refunded.",
};
const { proceed, resume } = await import("./snippet.mjs");
await proceed("42", "Refund order A-1042.");
await resume();
