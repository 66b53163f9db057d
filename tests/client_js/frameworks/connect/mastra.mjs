import { LibSQLStore } from "@mastra/libsql";
import { z } from "zod";

const input = JSON.stringify({ order: "A-1042", cents: 18000 });
globalThis.model = {
  ...{ specificationVersion: "v2", provider: "scripted", modelId: "scripted", supportedUrls: {} },
  async doGenerate() {
    const content = [{ type: "tool-call", toolCallId: "call-1", toolName: "refund", input }];
    return { content, finishReason: "tool-calls", usage: {}, warnings: [] };
  },
};
globalThis.instructions = "Help with orders.";
globalThis.storage = new LibSQLStore({ id: "runs", url: "file:runs.db" });
globalThis.options = {
  id: "refund",
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async () => "Refunded.",
};
const { start, resume } = await import("./snippet.mjs");
await start("42", "Refund order A-1042.");
await resume();
