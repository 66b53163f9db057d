// `start` runs the agent until it pauses. `resume` goes on with every answered thread.
import { generateText, stepCountIs, tool } from "ai";
import * as doubles from "ai/test";
import { guard, park, resumeAnswered } from "wake-client/ai";
import { z } from "zod";
import { approvals, asked, print, refund, thread } from "./refunds.mjs";

const Model = doubles.MockLanguageModelV4 ?? doubles.MockLanguageModelV3;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool once, and then repeats what it heard. */
const model = new Model({
  doGenerate: async ({ prompt }) => {
    const heard = prompt.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    const results = heard.filter(({ type }) => type === "tool-result");
    if (results.length) {
      const text = results.map(({ output }) => output.value ?? output.reason).join(" ");
      return { content: [{ type: "text", text }], finishReason: stop("stop"), usage, warnings: [] };
    }
    const call = { toolCallId: "call-1", toolName: "refund", input: JSON.stringify(asked) };
    const content = [{ type: "tool-call", ...call }];
    return { content, finishReason: stop("tool-calls"), usage, warnings: [] };
  },
});

function stop(unified) {
  return { unified, raw: unified };
}

const refundTool = tool({
  description: "Refunds an order.",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: refund,
});

async function proceed(thread, messages) {
  const tools = guard(approvals, thread, { refund: refundTool });
  const result = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  const paused = await park(approvals, thread, [...messages, ...result.response.messages]);
  return paused.length ? null : result.text;
}

const said = {};
if (process.argv[2] === "start") {
  said[thread] = await proceed(thread, [{ role: "user", content: "Refund A-1042." }]);
} else {
  await resumeAnswered(approvals, async (thread, messages) => {
    if (process.env.TAMPER) {
      const call = messages.flatMap(({ content }) => content).find(({ type }) => type === "tool-call");
      call.input.cents = 9_000_000;
    }
    said[thread] = await proceed(thread, messages);
  });
}
print(said);
