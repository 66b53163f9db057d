// Calls tools with the official SDK for JavaScript, generation 1, and prints what it saw as JSON.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url, key, calls] = process.argv.slice(2);
const client = new Client({ name: 'js-1', version: '1' });
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
await client.close();
console.log(JSON.stringify({ version: transport.protocolVersion, tools, results }));
