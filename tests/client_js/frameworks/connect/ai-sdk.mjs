import { tool } from "ai";
import * as doubles from "ai/test";
import { z } from "zod";

const call = { toolCallId: "call-1", toolName: "refund" };
const input = JSON.stringify({ order: "A-1042", cents: 18000 });
globalThis.model = new doubles.MockLanguageModelV4({
  doGenerate: {
    content: [{ type: "tool-call", ...call, input }],
    finishReason: { unified: "tool-calls" },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    warnings: [],
  },
});
globalThis.refund = tool({
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async () => "Refunded.",
});
const { proceed, resume } = await import("./snippet.mjs");
await proceed("42", [{ role: "user", content: "Refund order A-1042." }]);
await resume();
