// Calls an agent with the official SDK of A2A 1.0 for JavaScript, and prints what it saw as JSON.

import { Role, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  createAuthenticatingFetchWithRetry,
} from '@a2a-js/sdk/client';

const [agent, key, webhook, credentials] = process.argv.slice(2);

const authenticated = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${key}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl: authenticated })],
  }),
);
// By default, the resolver of this SDK looks for the card at the origin. So it gets the whole
// address of the card.
const card = await new DefaultAgentCardResolver().resolve(
  agent,
  `${agent}/.well-known/agent-card.json`,
);
const client = await factory.createFromAgentCard(card);

const state = (task) => TaskState[task.status.state].replace('TASK_STATE_', '').toLowerCase();

const send = (messageId, { taskId = '', configuration = undefined } = {}) =>
  client.sendMessage({
    tenant: '',
    metadata: undefined,
    configuration,
    message: {
      messageId,
      taskId,
      contextId: '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value: 'Hello' }, filename: '', mediaType: '' }],
      extensions: [],
      referenceTaskIds: [],
    },
  });

const seen = { card: card.name };
const done = await send('tck-artifact-data');
seen.sent = state(done);
seen.artifact = done.artifacts[0].parts[0].content.value;
seen.polled = state(await client.getTask({ tenant: '', id: done.id }));
const listed = await client.listTasks({
  tenant: '',
  contextId: done.contextId,
  status: TaskState.TASK_STATE_UNSPECIFIED,
});
seen.listed = listed.tasks.length === 1 && listed.tasks[0].id === done.id;
const asked = await send('tck-input-required');
seen.asked = state(asked);
seen.answered = state(await send('tck-complete-task', { taskId: asked.id }));
const again = await send('tck-input-required');
seen.canceled = state(await client.cancelTask({ tenant: '', id: again.id }));
seen.direct = (await send('tck-message-response')).parts[0].content.value;
try {
  await client.getTask({ tenant: '', id: 'nothing-here' });
} catch (error) {
  seen.missing = error.reason === 'TASK_NOT_FOUND';
}
try {
  const stream = client.resubscribeTask({ tenant: '', id: 'nothing-here' });
  for await (const event of stream) console.error(event);
} catch (error) {
  seen.not_streamed = error.reason === 'TASK_NOT_FOUND';
}
const push = {
  tenant: '',
  taskId: '',
  id: 'mine',
  url: webhook,
  token: 'a-token',
  authentication: { scheme: 'Bearer', credentials },
};
const configuration = {
  acceptedOutputModes: [],
  taskPushNotificationConfig: push,
  returnImmediately: false,
};
const pushed = await send('tck-complete-task', { configuration });
seen.pushed = pushed.id;
const found = await client.getTaskPushNotificationConfig({
  tenant: '',
  taskId: pushed.id,
  id: 'mine',
});
seen.config = found.url === webhook;
seen.credentials_told = Boolean(found.authentication?.credentials);
const configs = await client.listTaskPushNotificationConfig({ tenant: '', taskId: pushed.id });
seen.configs = configs.configs.map((config) => config.id);
await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: pushed.id, id: 'mine' });

console.log(JSON.stringify(seen));
