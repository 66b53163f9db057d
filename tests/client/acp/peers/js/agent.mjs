// An agent on the official SDK that makes one tool call for each prompt, as agent.py does.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const OPTIONS = [
  { optionId: "always", name: "Always allow", kind: "allow_always" },
  { optionId: "yes", name: "Allow", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
];
const folders = new Map();

const agent = acp.agent({ name: "publisher" });
const { agent: methods, client } = acp.methods;
agent.onRequest(methods.initialize, ({ params }) => ({
  protocolVersion: params.protocolVersion,
  agentInfo: { name: "publisher", title: "Publisher", version: "1" },
}));
agent.onRequest(methods.session.new, ({ params }) => {
  const sessionId = crypto.randomUUID();
  folders.set(sessionId, params.cwd);
  return { sessionId };
});
agent.onNotification(methods.session.cancel, () => {});
agent.onRequest(methods.session.prompt, async ({ params, client: editor }) => {
  const { sessionId } = params;
  const toolCallId = crypto.randomUUID();
  const update = (step) => editor.notify(client.session.update, { sessionId, update: step });
  await update({
    sessionUpdate: "tool_call",
    toolCallId,
    title: "npm publish",
    kind: "execute",
    rawInput: { command: "npm publish" },
  });
  const { outcome } = await editor.request(client.session.requestPermission, {
    sessionId,
    toolCall: { toolCallId },
    options: OPTIONS,
  });
  const isAllowed = outcome.optionId === "always" || outcome.optionId === "yes";
  if (isAllowed) appendFileSync(join(folders.get(sessionId), "runs"), "published\n");
  const status = isAllowed ? "completed" : "failed";
  await update({ sessionUpdate: "tool_call_update", toolCallId, status });
  const text = outcome.optionId ?? outcome.outcome;
  await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  return { stopReason: outcome.outcome === "cancelled" ? "cancelled" : "end_turn" };
});

agent.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
