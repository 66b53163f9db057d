// Calls tools with the official SDK for JavaScript, generation 2, and prints what it saw as JSON.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, key, calls, mode] = process.argv.slice(2);
const client = new Client(
  { name: 'js-2', version: '1' },
  { versionNegotiation: { mode: mode.startsWith('20') ? { pin: mode } : mode } },
);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
});
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const results = [];
for (const [name, args] of JSON.parse(calls)) {
  const result = await client.callTool({ name, arguments: args });
  results.push([Boolean(result.isError), result.structuredContent ?? null, result.content[0].text]);
}
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ version, tools, results }));
