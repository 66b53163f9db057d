import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";

class Model extends BaseChatModel {
  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate() {
    const args = { order: "A-1042", cents: 18000 };
    const call = { type: "tool_call", id: "call-1", name: "refund", args };
    const message = new AIMessage({ content: "", tool_calls: [call] });
    return { generations: [{ text: "", message }] };
  }
}

globalThis.model = new Model({});
globalThis.checkpointer = new MemorySaver();
globalThis.refund = async () => "Refunded.";
globalThis.description = "Refunds an order.";
globalThis.schema = z.object({ order: z.string(), cents: z.number() });
const { proceed, resume } = await import("./snippet.mjs");
await proceed("42", { messages: [{ role: "user", content: "Refund order A-1042." }] });
await resume();
