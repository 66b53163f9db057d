/** Remembers a program's questions in a store, so that it finds their answers after a restart. */

import { checkAnswer, sha256 } from "./digest.js";
import type { Store } from "./store.js";
import { type Answer, isAnswered, isWithdrawn, mustWait, type Question } from "./types.js";
import type { CallOptions, Wake } from "./wake.js";

/** The kind of the entries in the store. */
const QUESTIONS = "questions";

/** Records one question. `words` is a digest of what was asked under the name. */
interface Entry {
  key: string;
  words: string;
  delivery_id: string | null;
  must_wait: boolean;
  digest: string | null;
}

/**
 * Holds the questions of one program, by a name that the program gives to each.
 *
 * An entry is written before its question is sent. So a program that dies while it sends the
 * question does not ask twice. The entry is kept until forget(), so that a program that dies after
 * the answer gets the answer again. An entry whose question was never confirmed is asked again with
 * the same Idempotency-Key, which the server knows for 24 hours.
 */
export class Book {
  readonly #wake: Wake;
  readonly #store: Store;

  constructor(wake: Wake, store: Store) {
    this.#wake = wake;
    this.#store = store;
  }

  /**
   * Asks, or waits for the answer to the earlier question of this name. Throws a TypeError if the
   * question has changed, because an approval is for the words that people saw.
   */
  async ask(
    name: string,
    question: Question,
    options: CallOptions & { timeoutSeconds?: number | undefined } = {},
  ): Promise<Answer> {
    let entry = await this.#begun(name, question);
    if (entry.delivery_id === null) {
      const delivery = { ...question, type: "question" as const };
      const sending = { ...options, idempotencyKey: entry.key };
      const receipt = await this.#wake.deliver(delivery, sending);
      entry = {
        ...entry,
        delivery_id: receipt.delivery_id,
        must_wait: mustWait(receipt),
        digest: receipt.digest ?? null,
      };
      await this.#store.write(QUESTIONS, name, { ...entry });
    }
    return this.#wake.wait(String(entry.delivery_id), {
      ...options,
      mustWait: entry.must_wait,
      digest: entry.digest ?? undefined,
    });
  }

  /**
   * Yields the answers that have come, each with the name of its question. Includes expired ones if
   * the agent may go on without an answer, and withdrawn ones, which get no answer.
   */
  async *answers(options: CallOptions = {}): AsyncGenerator<[name: string, answer: Answer], void> {
    for (const name of await this.#store.names(QUESTIONS)) {
      const entry = (await this.#store.read(QUESTIONS, name)) as Entry | null;
      if (!entry?.delivery_id) continue;
      const answer = await this.#wake.response(entry.delivery_id, options);
      checkAnswer(answer, entry.digest ?? undefined);
      const mayGoOn = answer.expired && !entry.must_wait;
      if (isAnswered(answer) || isWithdrawn(answer) || mayGoOn) yield [name, answer];
    }
  }

  /** Removes an entry when the program has acted on its answer. */
  async forget(name: string): Promise<void> {
    await this.#store.remove(QUESTIONS, name);
  }

  async #begun(name: string, question: Question): Promise<Entry> {
    const words = await sha256(question);
    const entry = { key: crypto.randomUUID(), words };
    const unsent: Entry = { ...entry, delivery_id: null, must_wait: false, digest: null };
    // If two calls begin at the same time, both ask with the key of the first one.
    await this.#store.create(QUESTIONS, name, { ...unsent });
    const stored = ((await this.#store.read(QUESTIONS, name)) as Entry | null) ?? unsent;
    if (stored.words !== words) {
      throw new TypeError(
        `${name} was asked with other words, and its answer is not for these. Use another name, or ` +
          "forget() it first.",
      );
    }
    return stored;
  }
}
