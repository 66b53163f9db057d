// Makes calls that fail, with the official SDK for JavaScript, generation 2. After each of them it
// calls a tool, to see that the session is still there. Prints what it saw as JSON.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, key, mode] = process.argv.slice(2);
const client = new Client(
  { name: 'js-2', version: '1' },
  { versionNegotiation: { mode: mode.startsWith('20') ? { pin: mode } : mode } },
);
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
  }),
);
const seen = [];
for (const call of [
  () => client.callTool({ name: 'nosuch', arguments: {} }),
  () => client.request({ method: 'prompts/list' }),
  () => client.request({ method: 'resources/list' }),
  () => client.callTool({ name: 'check', arguments: { delivery_id: '\u0000' } }),
  () => client.callTool({ name: 'check', arguments: { delivery: 7 } }),
]) {
  const failure = await call().then(
    (result) => [0, result.content[0].text],
    (error) => [error.code, error.message],
  );
  const lives = await client.callTool({ name: 'answers', arguments: {} });
  seen.push([...failure, Boolean(lives.isError)]);
}
await client.close();
console.log(JSON.stringify(seen));
