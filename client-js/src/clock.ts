/** Waits, and measures time. A test passes a clock of its own. */

export interface Clock {
  /** Returns Unix time in milliseconds. */
  now(): number;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const abort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", abort, { once: true });
    }),
};

const FIRST_MS = 1_000;
const MAX_MS = 30_000;

/**
 * Yields pauses without end, each random between 0 and 1, 2, 4 ... 30 seconds. This is "full
 * jitter": clients that lost the same server do not all come back at the same time.
 */
export function* pauses(): Generator<number, never> {
  for (let longest = FIRST_MS; ; longest = Math.min(longest * 2, MAX_MS)) {
    yield Math.random() * longest;
  }
}

/** Adds up to a tenth, at random, to the pause that the server asked for. */
export function atLeast(ms: number): number {
  return ms + Math.random() * Math.max(ms * 0.1, 500);
}
