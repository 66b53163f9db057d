// What every program of these tests shares: an agent that refunds an order when people approved it.
import { appendFileSync } from "node:fs";
import { Wake } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { FileStore } from "wake-client/node";

const { AGENT_ID, AWAY, KEY, KILL, LEDGER, ON_TIMEOUT, ORIGIN, STORE, THREAD } = process.env;
export const thread = THREAD;
export const asked = { order: "A-1042", cents: 18000 };

/** Ends the process as a crash does, if the test asks for it at this place. */
export function killAt(place) {
  if (KILL === place) process.kill(process.pid, "SIGKILL");
}

async function fetchOrDie(url, init) {
  const step = new URL(url).pathname.split("/")[3];
  if (AWAY && step === AWAY) throw new TypeError("There is no connection.");
  killAt(`before ${step}`);
  const response = await fetch(url, init);
  killAt(`after ${step}`);
  return response;
}

const wake = new Wake({
  endpoint: ORIGIN,
  key: KEY,
  agentId: AGENT_ID,
  fetch: fetchOrDie,
  retryForSeconds: 0,
});
const rejects = { timeoutSeconds: 60, onTimeout: "reject" };
export const approvals = new Approvals(wake, new FileStore(STORE), {
  tools: { refund: ON_TIMEOUT ? rejects : {} },
});

export async function refund({ order, cents }) {
  appendFileSync(LEDGER, `${order} ${cents}\n`);
  killAt("in the tool");
  if (process.env.FAIL) throw new Error("The bank refused.");
  return `Refunded ${cents} for ${order}.`;
}

/** Prints one line: what the agent said at its end, by thread. */
export function print(said) {
  console.log(JSON.stringify(said));
}
