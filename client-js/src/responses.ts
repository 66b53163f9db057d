import type { Answer, Status, Sweep } from "./types.js";

export interface SweepOptions {
  /** The `nextSince` of the last time. Without it, a sweep begins with the first answer. */
  since?: string | null | undefined;
  status?: readonly Status[] | undefined;
  limit?: number | undefined;
  /** Seconds that the server may wait for a first answer (at most 25). */
  wait?: number | undefined;
}

interface Pages {
  sweep(options: SweepOptions & { signal?: AbortSignal | undefined }): Promise<Sweep>;
}

const ANSWERED = ["approved", "rejected", "redirected"] as const;
const MAX_ROWS = 200;

/**
 * Iterates over a sweep, page by page.
 *
 * `nextSince` moves on only after a whole page. A program that stops in the middle of a page gets
 * that whole page again the next time.
 */
export class Responses implements AsyncIterable<Answer> {
  nextSince: string | null;
  readonly #pages: Pages;
  readonly #options: SweepOptions & { signal?: AbortSignal | undefined };

  constructor(pages: Pages, options: SweepOptions & { signal?: AbortSignal | undefined }) {
    this.nextSince = options.since ?? null;
    this.#pages = pages;
    this.#options = { status: ANSWERED, limit: MAX_ROWS, ...options };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Answer, void> {
    let { wait } = this.#options;
    for (let hasMore = true; hasMore; wait = undefined) {
      const page = await this.#pages.sweep({ ...this.#options, since: this.nextSince, wait });
      yield* page.deliveries;
      this.nextSince = page.next_since;
      hasMore = page.has_more;
    }
  }
}
