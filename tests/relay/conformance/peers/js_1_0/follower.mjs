// Follows a task with the official SDK of A2A 1.0 for JavaScript through every interruption. Prints
// each event as one line of JSON: its kind, its generation and the state of the task.

import { Role, TaskState } from '@a2a-js/sdk';
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
const names = { statusUpdate: 'status-update', artifactUpdate: 'artifact-update' };

const say = (kind, generation, state) => {
  isOver = state === 'completed';
  console.log(JSON.stringify([kind, generation, state]));
};
const stateOf = (task) => TaskState[task.status.state].replace('TASK_STATE_', '').toLowerCase();
const take = (event) => {
  const { $case: name, value: change } = event.payload;
  taskId = name === 'task' ? change.id : change.taskId;
  say(names[name] ?? name, change.metadata.wakeGeneration, change.status ? stateOf(change) : '');
};
const pause = () => new Promise((resolve) => setTimeout(resolve, 300));

const message = {
  messageId: 'tck-stream-steps',
  taskId: '',
  contextId: '',
  role: Role.ROLE_USER,
  parts: [{ content: { $case: 'text', value: 'Hi' }, filename: '', mediaType: '' }],
  extensions: [],
  referenceTaskIds: [],
};
try {
  const sending = { tenant: '', metadata: undefined, configuration: undefined, message };
  for await (const event of client.sendMessageStream(sending)) take(event);
} catch (error) {
  console.error(`cut off: ${error}`);
}
while (!isOver) {
  try {
    for await (const event of client.resubscribeTask({ tenant: '', id: taskId })) take(event);
  } catch (error) {
    if (error.reason === 'UNSUPPORTED_OPERATION') {
      say('get', 0, stateOf(await client.getTask({ tenant: '', id: taskId })));
    } else {
      console.error(`cut off: ${error}`);
      await pause();
    }
  }
}
