/**
 * Records which calls people were asked about, so that a restarted program finds the answers, and so
 * that no approval is used twice.
 *
 * Each step of a call is an object of its own, which is created once and not changed. So two
 * processes can only agree: the one that comes second reads what the first one wrote.
 */

import { sha256 } from "../digest.js";
import type { Store, Stored } from "../store.js";
import { digestOf, type ToolCall } from "./calls.js";
import { deny, type Verdict } from "./verdicts.js";

/** A call that people are asked about. `id` names its objects in the store. `key` is the beginning
 * of the Idempotency-Key of the question. */
export interface Asked extends ToolCall {
  id: string;
  key: string;
}

/** What a question became. `digest` is null if the server has no claims. */
export interface Delivered {
  delivery_id: string;
  digest: string | null;
  waits: boolean;
  created_at: string;
}

/** A call that its run waits for. The next sweep for its answer begins at `since`, or else at the
 * time of its delivery. */
interface Waiting {
  since: string | null;
}

export class Records {
  readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  /** Throws a TypeError if the store has the calls of another agent. Sweeps of this agent would pass
   * over their answers. */
  async checkOwner(agentId: string): Promise<void> {
    await this.store.create("owner", "agent", { agentId });
    const owner = await this.#read<{ agentId: string }>("owner", "agent");
    if (owner?.agentId === agentId) return;
    throw new TypeError(
      `The store has the calls of the agent ${owner?.agentId}. Give each agent a store of its own.`,
    );
  }

  /** Returns the record of a call, whose run now waits for it. Writes the record if it is new, or
   * if its question was withdrawn. */
  async begin(call: ToolCall): Promise<Asked> {
    const id = await this.#currentId(call);
    await this.store.create("waiting", id, { since: null });
    await this.store.create("calls", id, { ...call, key: crypto.randomUUID() });
    return this.#known(id);
  }

  async find(call: ToolCall): Promise<Asked | null> {
    return this.asked(await this.#currentId(call));
  }

  async asked(id: string): Promise<Asked | null> {
    const call = await this.#read<Omit<Asked, "id">>("calls", id);
    return call && { ...call, id };
  }

  /** Returns the question about the same call before this one. It was about other arguments, or was
   * withdrawn. */
  async earlier({ id, ...call }: Asked): Promise<Asked | null> {
    const newest = await this.#newestId(call);
    return newest === null || newest === id ? null : this.asked(newest);
  }

  async makeNewest({ id, ...call }: Asked): Promise<void> {
    await this.store.write("newest", await placeOf(call), { id });
  }

  async isKnown(call: ToolCall): Promise<boolean> {
    return (await this.#newestId(call)) !== null;
  }

  async delivered(id: string): Promise<Delivered | null> {
    return this.#read("delivered", id);
  }

  async deliver(id: string, delivered: Delivered): Promise<void> {
    await this.store.create("delivered", id, { ...delivered });
  }

  async verdict(id: string): Promise<Verdict | null> {
    return this.#read("verdict", id);
  }

  /** Stores the verdict, unless there is one. Returns the stored verdict. */
  async decide(asked: Asked, verdict: Verdict): Promise<Verdict> {
    await this.store.create("verdict", asked.id, { ...verdict });
    const decided = (await this.verdict(asked.id)) ?? verdict;
    if (decided.decision !== "deny") {
      const args = decided.decision === "edit" ? decided.arguments : asked.arguments;
      const allowed = await exactlyOf({ ...asked, arguments: args });
      await this.store.write("allowed", allowed, { id: asked.id });
    }
    return decided;
  }

  /** Returns the record that allows a call with exactly these arguments: those that people were
   * asked about, or those of a person's edit. If people were asked about the arguments of an edit
   * once more, only their last answer counts. */
  async allowed(call: ToolCall): Promise<Asked | null> {
    const allowed = await this.#read<{ id: string }>("allowed", await exactlyOf(call));
    if (!allowed) return null;
    const exact = await this.find(call);
    const isLast = exact !== null && (await this.#newestId(call)) === exact.id;
    return isLast && allowed.id !== exact.id ? null : this.asked(allowed.id);
  }

  /** Returns the Idempotency-Key of the claim. All tries to use an approval have one key. */
  async claimKey(id: string): Promise<string> {
    await this.store.create("use", id, { key: crypto.randomUUID() });
    return (await this.#read<{ key: string }>("use", id))?.key ?? "";
  }

  async refusal(id: string): Promise<string | null> {
    return (await this.#read<{ words: string }>("refused", id))?.words ?? null;
  }

  /** Stores that the server does not let us use an approval. */
  async refuse(id: string, words: string): Promise<void> {
    await this.store.create("refused", id, { ...deny(words) });
  }

  /** Returns whether this process runs the tool. Only one process ever gets true. */
  async start(id: string): Promise<boolean> {
    return this.store.create("started", id, { at: new Date().toISOString() });
  }

  async hasStarted(id: string): Promise<boolean> {
    return (await this.store.read("started", id)) !== null;
  }

  /** Stores how a tool ended. The end is reported to people until reported() is called. */
  async end(id: string, end: { status: "done" | "failed"; summary?: string }): Promise<void> {
    await this.store.create("unreported", id, { ...end });
    await this.store.create("ended", id, { status: end.status });
  }

  async hasEnded(id: string): Promise<boolean> {
    return (await this.store.read("ended", id)) !== null;
  }

  async reported(id: string): Promise<void> {
    await this.store.remove("unreported", id);
  }

  async waiting(): Promise<(Asked & Waiting)[]> {
    const ids = await this.store.names("waiting");
    const found = await Promise.all(
      ids.map(async (id) => {
        const [asked, waiting] = [await this.asked(id), await this.#read<Waiting>("waiting", id)];
        return asked && waiting && { ...asked, ...waiting };
      }),
    );
    return found.filter((each) => each !== null);
  }

  /** Stores where the next sweep for an answer begins. */
  async continueAt(id: string, since: string): Promise<void> {
    await this.store.write("waiting", id, { since });
  }

  async resumed(id: string): Promise<void> {
    await this.store.remove("waiting", id);
  }

  async save(framework: string, thread: string, state: string): Promise<void> {
    await this.store.write("runs", await sha256([framework, thread]), { state });
  }

  async state(framework: string, thread: string): Promise<string | null> {
    const run = await this.#read<{ state: string }>("runs", await sha256([framework, thread]));
    return run?.state ?? null;
  }

  async forgetState(framework: string, thread: string): Promise<void> {
    await this.store.remove("runs", await sha256([framework, thread]));
  }

  /** Returns the id of the newest record of a call. A withdrawn question is followed by another. */
  async #currentId(call: ToolCall): Promise<string> {
    const exactly = await exactlyOf(call);
    for (let round = 1; ; round++) {
      const verdict = await this.verdict(`${exactly}-${round}`);
      const isWithdrawn = verdict?.decision === "deny" && verdict.withdrawn;
      if (!isWithdrawn) return `${exactly}-${round}`;
    }
  }

  async #newestId(call: ToolCall): Promise<string | null> {
    return (await this.#read<{ id: string }>("newest", await placeOf(call)))?.id ?? null;
  }

  async #known(id: string): Promise<Asked> {
    const asked = await this.asked(id);
    if (!asked) throw new Error(`The store has lost the call ${id}.`);
    return asked;
  }

  async #read<Value>(kind: string, name: string): Promise<Value | null> {
    return (await this.store.read(kind, name)) as (Value & Stored) | null;
  }
}

async function placeOf({ framework, thread, callId }: ToolCall): Promise<string> {
  return sha256([framework, thread, callId]);
}

async function exactlyOf(call: ToolCall): Promise<string> {
  const digest = await digestOf(call.tool, call.arguments);
  return sha256([call.framework, call.thread, call.callId, digest]);
}
