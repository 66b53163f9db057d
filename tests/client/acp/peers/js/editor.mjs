// An editor on the official SDK, as editor.py. This SDK has `$/cancel_request`: then the dialog
// ends, and the editor prints so.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [button, folder, ...command] = process.argv.slice(2);
const show = (event) => console.log(JSON.stringify(event));
const { agent: methods, client } = acp.methods;

const editor = acp.client({ name: "editor" });
editor.onRequest(client.session.requestPermission, async ({ params, signal, agent }) => {
  show({ dialog: params.options.map((option) => option.optionId) });
  if (button === "none") {
    if (!signal.aborted) await once(signal, "abort");
    show({ ended: "dialog" });
    return { outcome: { outcome: "cancelled" } };
  }
  if (button === "stop") {
    await agent.notify(methods.session.cancel, { sessionId: params.sessionId });
    return { outcome: { outcome: "cancelled" } };
  }
  return { outcome: { outcome: "selected", optionId: button } };
});
editor.onNotification(client.session.update, ({ params: { update } }) => {
  if (update.sessionUpdate.startsWith("tool_call")) show({ call: update.status ?? "pending" });
  if (update.sessionUpdate === "agent_message_chunk") show({ said: update.content.text });
});

const stdio = ["pipe", "pipe", "inherit"];
const process_ = spawn(command[0], command.slice(1), { stdio });
const stream = acp.ndJsonStream(
  Writable.toWeb(process_.stdin),
  Readable.toWeb(process_.stdout),
);
await editor.connectWith(stream, async (agent) => {
  const protocolVersion = acp.PROTOCOL_VERSION;
  await agent.request(methods.initialize, { protocolVersion, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.session.new, { cwd: folder, mcpServers: [] });
  const prompt = [{ type: "text", text: "Publish it." }];
  const { stopReason } = await agent.request(methods.session.prompt, { sessionId, prompt });
  show({ stop: stopReason });
});
process_.stdin.end();
await once(process_, "exit");
