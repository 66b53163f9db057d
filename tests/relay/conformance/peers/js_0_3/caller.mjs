// Calls an agent with the official SDK of A2A 0.3 for JavaScript, and prints what it saw as JSON.

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

const state = (task) => task.status.state.replace('-', '_');

const send = (messageId, { taskId, configuration } = {}) =>
  client.sendMessage({
    configuration,
    message: {
      kind: 'message',
      messageId,
      taskId,
      role: 'user',
      parts: [{ kind: 'text', text: 'Hello' }],
    },
  });

const seen = { card: card.name };
const done = await send('tck-artifact-data');
seen.sent = state(done);
seen.artifact = done.artifacts[0].parts[0].data;
seen.polled = state(await client.getTask({ id: done.id }));
const asked = await send('tck-input-required');
seen.asked = state(asked);
seen.answered = state(await send('tck-complete-task', { taskId: asked.id }));
const again = await send('tck-input-required');
seen.canceled = state(await client.cancelTask({ id: again.id }));
seen.direct = (await send('tck-message-response')).parts[0].text;
try {
  await client.getTask({ id: 'nothing-here' });
} catch (error) {
  seen.missing = error.constructor.name === 'TaskNotFoundJSONRPCError';
}
try {
  for await (const event of client.resubscribeTask({ id: 'nothing-here' })) console.error(event);
} catch (error) {
  seen.not_streamed = error.message.includes('-32001') && error.message.includes('not found');
}
const pushNotificationConfig = {
  id: 'mine',
  url: webhook,
  token: 'a-token',
  authentication: { schemes: ['Bearer'], credentials },
};
const pushed = await send('tck-complete-task', { configuration: { pushNotificationConfig } });
seen.pushed = pushed.id;
const params = { id: pushed.id, pushNotificationConfigId: 'mine' };
const found = (await client.getTaskPushNotificationConfig(params)).pushNotificationConfig;
seen.config = found.url === webhook;
seen.credentials_told = Boolean(found.authentication?.credentials);
const configs = await client.listTaskPushNotificationConfig({ id: pushed.id });
seen.configs = configs.map((each) => each.pushNotificationConfig.id);
await client.deleteTaskPushNotificationConfig(params);

console.log(JSON.stringify(seen));
