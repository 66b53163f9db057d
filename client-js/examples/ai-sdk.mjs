// An agent of the AI SDK that refunds an order when people approved it.
//
//     node ai-sdk.mjs start     asks people, and ends
//     node ai-sdk.mjs resume    goes on with every answered thread; start it regularly
//
// docs/adapters/ai-sdk.md says what to install. Needs WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID.
// The model is a script, so that the example needs no other key. Replace it by a model of a provider.
import { generateText, stepCountIs, tool } from "ai";
import * as doubles from "ai/test";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { guard, park, resumeAnswered } from "wake-client/ai";
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

const refund = tool({
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async ({ order, cents }) => `Refunded ${cents} for ${order}.`,
});

async function proceed(thread, messages) {
  const tools = guard(approvals, thread, { refund });
  const result = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  const paused = await park(approvals, thread, [...messages, ...result.response.messages]);
  console.log(paused.length ? `${thread} waits for people.` : `${thread}: ${result.text}`);
}

const Model = doubles.MockLanguageModelV4 ?? doubles.MockLanguageModelV3;
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const answered = { finishReason: { unified: "stop" }, usage, warnings: [] };
const model = new Model({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last.role === "tool") {
      const text = last.content.map(({ output }) => output?.value ?? output?.reason ?? "").join("");
      return { content: [{ type: "text", text }], ...answered };
    }
    const input = JSON.stringify({ order: "A-1042", cents: 18000 });
    const call = { type: "tool-call", toolCallId: "call-1", toolName: "refund", input };
    return { content: [call], ...answered, finishReason: { unified: "tool-calls" } };
  },
});

if (process.argv[2] === "start") {
  await proceed("ticket-7", [{ role: "user", content: "Please refund order A-1042." }]);
} else {
  await resumeAnswered(approvals, proceed);
}
