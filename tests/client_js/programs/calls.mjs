// Makes one call of the client for each JSON line on stdin, and prints its result as a line.
import { createInterface } from "node:readline";

export async function serve(wakeClient) {
  const { Wake } = wakeClient;
  const { ORIGIN: endpoint, KEY: key, AGENT_ID: agentId } = process.env;
  const wake = new Wake({ endpoint, key, agentId, retryForSeconds: 30 });
  const others = {
    async sweep(since) {
      const responses = wake.responses({ since });
      const answers = [];
      for await (const answer of responses) answers.push(answer);
      return { answers, nextSince: responses.nextSince };
    },
    uploadBytes: (base64, options) =>
      wake.upload(Uint8Array.from(atob(base64), (each) => each.charCodeAt(0)), options),
    image: (upload, alt) => wakeClient.blocks.page([wakeClient.blocks.image(upload, alt)]),
    verify: (body, headers, secret) => wakeClient.verify(body, headers, secret),
    withKey: (other) => new Wake({ endpoint, key: other, agentId }).sweep(),
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { name, arguments: given } = JSON.parse(line);
    try {
      const value = await (others[name] ?? wake[name].bind(wake))(...given);
      console.log(JSON.stringify({ value }));
    } catch ({ name, code = null, message }) {
      console.log(JSON.stringify({ error: { name, code, message } }));
    }
  }
}
