// Asks with the official package for tasks, prints each state of the task as a line of JSON, and at
// last its result. A third argument cancels the task once it works.

import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';

const [url, key, question, cancels] = process.argv.slice(2);
const VERSION = '2026-07-28';
const clientInfo = { name: 'js-tasks', version: '1' };
const headers = { Authorization: `Bearer ${key}` };

// The SDK's own client does not know the results of tasks, so its host sends these requests.
async function rawDispatch(request, { signal } = {}) {
  const { method, params } = request;
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: {
      ...headers,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': VERSION,
      'Mcp-Method': method,
      'Mcp-Name': params.taskId ?? params.name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), ...request }),
  });
  const { result, error } = await response.json();
  return error ? { kind: 'error', error } : { kind: 'result', result };
}

const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: VERSION } } });
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
);
const session = createTaskSessionFromClient(client, {
  endpointId: 'wake',
  rawDispatch,
  v2RequestFraming: { protocolVersion: VERSION, clientInfo, clientCapabilities: {} },
});
const print = (line) => console.log(JSON.stringify(line));
const execution = await session.callTool('ask', JSON.parse(question));
print([execution.kind, execution.handle?.taskId ?? null]);
if (cancels) await execution.cancel();
const { outcome } = await execution.settle({
  onEvent: (event) => event.task && print([event.task.status, event.task.statusMessage]),
});
print([outcome.status, outcome.result ?? String(outcome.error)]);
await session.close();
await client.close();
