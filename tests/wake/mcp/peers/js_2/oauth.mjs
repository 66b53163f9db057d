// Signs in by OAuth with the official SDK for JavaScript, generation 2. Prints the address that a
// browser has to open, and reads the address that the browser comes back to. Then it calls the tools
// that it reads, and prints each result. Each line is a value of JSON.

import { createInterface } from 'node:readline';

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const [url, callback] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value);

const stored = {};
const provider = {
  redirectUrl: callback,
  clientMetadata: { client_name: 'JavaScript SDK', redirect_uris: [callback] },
  state: () => (stored.state = crypto.randomUUID()),
  clientInformation: () => stored.client,
  saveClientInformation: (client) => (stored.client = client),
  tokens: () => stored.tokens,
  saveTokens: (tokens) => (stored.tokens = tokens),
  redirectToAuthorization: (address) => print({ open: address.href }),
  saveCodeVerifier: (verifier) => (stored.verifier = verifier),
  codeVerifier: () => stored.verifier,
  invalidateCredentials: (scope) => {
    if (scope === 'all' || scope === 'tokens') delete stored.tokens;
    if (scope === 'all' || scope === 'client') delete stored.client;
  },
};

const connect = async () => {
  const client = new Client({ name: 'js-2', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const back = new URL(await read()).searchParams;
    if (back.get('state') !== stored.state) throw new Error('The state is another.');
    await transport.finishAuth(back);
    return connect();
  }
  return client;
};

const client = await connect();
print({ tools: (await client.listTools()).tools.map((tool) => tool.name) });
for (;;) {
  const [name, args] = await read();
  try {
    print({ isError: Boolean((await client.callTool({ name, arguments: args })).isError) });
  } catch (error) {
    print({ error: error.constructor.name });
  }
}
