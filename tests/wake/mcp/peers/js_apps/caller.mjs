// Asks as a host of cards does, with the official SDK, and prints what it saw as JSON.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { RESOURCE_MIME_TYPE, getToolUiResourceUri } from '@modelcontextprotocol/ext-apps/app-bridge';

const [url, key, question, mode] = process.argv.slice(2);
const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } };
const client = new Client(
  { name: 'js-apps', version: '1' },
  { capabilities: { extensions }, versionNegotiation: { mode } },
);
const transport = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${key}` } },
});
await client.connect(transport);
const { tools } = await client.listTools();
const cards = Object.fromEntries(tools.map((tool) => [tool.name, getToolUiResourceUri(tool) ?? null]));
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: cards.ask });
const result = await client.callTool({ name: 'ask', arguments: JSON.parse(question) });
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ version, cards, resources, contents, result }));
