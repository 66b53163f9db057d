// Follows a task with the official SDK of A2A 0.3 for JavaScript through every interruption. Prints
// each event as one line of JSON: its kind, its generation and the state of the task.

import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';

const [agent, key] = process.argv.slice(2);

const authenticated = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${key}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl: authenticated })],
  }),
);
const card = await new DefaultAgentCardResolver().resolve(
  agent,
  `${agent}/.well-known/agent-card.json`,
);
const client = await factory.createFromAgentCard(card);

let taskId = '';
let isOver = false;

const say = (kind, generation, state) => {
  isOver = state === 'completed';
  console.log(JSON.stringify([kind, generation, state]));
};
const take = (change) => {
  taskId = change.kind === 'task' ? change.id : change.taskId;
  say(change.kind, change.metadata.wakeGeneration, change.status?.state ?? '');
};
const pause = () => new Promise((resolve) => setTimeout(resolve, 300));

const message = {
  kind: 'message',
  messageId: 'tck-stream-steps',
  role: 'user',
  parts: [{ kind: 'text', text: 'Hi' }],
};
try {
  for await (const event of client.sendMessageStream({ message })) take(event);
} catch (error) {
  console.error(`cut off: ${error}`);
}
while (!isOver) {
  try {
    for await (const event of client.resubscribeTask({ id: taskId })) take(event);
  } catch (error) {
    if (error.constructor.name === 'UnsupportedOperationJSONRPCError' || /-32004/.test(error)) {
      say('get', 0, (await client.getTask({ id: taskId })).status.state);
    } else {
      console.error(`cut off: ${error}`);
      await pause();
    }
  }
}
