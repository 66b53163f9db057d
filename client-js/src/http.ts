/** Sends one request, and sends it again while that may help. */

import { atLeast, type Clock, pauses } from "./clock.js";
import { errorOf, NotWake, Unavailable, type WakeError } from "./errors.js";
import { VERSION } from "./version.js";

/** Describes one HTTP request. `path` begins after /wake/v1. `wait` is for a long poll. */
export interface Request {
  method: "GET" | "POST";
  path: string;
  query?: Record<string, string | undefined>;
  headers?: Record<string, string>;
  /** Is sent as compact JSON. */
  json?: unknown;
  /** Is sent unchanged. */
  content?: Uint8Array<ArrayBuffer> | Blob;
  /** The seconds that the server may wait before it answers. */
  wait?: number;
}

export interface Reply {
  body: unknown;
  isReplayed: boolean;
}

export interface HttpOptions {
  api: string;
  key: string;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  retryForSeconds: number;
}

export interface SendOptions {
  signal?: AbortSignal | undefined;
  retryForSeconds?: number | undefined;
  /** No try begins after this time of the clock. */
  until?: number | undefined;
}

const RESPONSE_MS = 15_000;
const UPLOAD_MS = 120_000;
// Temporary statuses, which pass without a change on our side, unlike 500, 501 and 505.
const TEMPORARY = [429, 502, 503, 504];

export class Http {
  readonly #options: HttpOptions;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /**
   * Sends a request. While the server is away (no connection, 502 to 504) or asks to wait (429),
   * the same request is sent again, but not sooner than `Retry-After` allows. Throws WakeError,
   * the signal's reason, or a TypeError for a body or a header that cannot be sent.
   */
  async send(request: Request, options: SendOptions = {}): Promise<Reply> {
    const { signal, until } = options;
    const { clock } = this.#options;
    const { retryForSeconds = this.#options.retryForSeconds } = options;
    const giveUpAt = Math.min(
      clock.now() + retryForSeconds * 1000,
      until ?? Number.POSITIVE_INFINITY,
    );
    for (const pause of pauses()) {
      const outcome = await this.#try(request, signal);
      if ("reply" in outcome) return outcome.reply;
      const { error, mayPass } = outcome;
      const ms = error.retryAfter === null ? pause : atLeast(error.retryAfter * 1000);
      if (!mayPass || clock.now() + ms > giveUpAt) throw error;
      await clock.sleep(ms, signal);
    }
    throw new Error("The pauses never end.");
  }

  async #try(
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<{ reply: Reply } | { error: WakeError; mayPass: boolean }> {
    const { clock, fetch } = this.#options;
    const url = this.#url(request);
    const init = this.#init(request); // its errors are the program's, and no try helps
    const limit = limitedSignal(signal, timeLimit(request));
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, { ...init, signal: limit.signal });
      text = await response.text();
    } catch (cause) {
      if (signal?.aborted) throw signal.reason;
      const reason = `${url.host} could not be reached, or did not answer: ${messageOf(cause)}`;
      return { error: new Unavailable("unreachable", reason, { cause }), mayPass: true };
    } finally {
      limit.end();
    }
    const body = parsed(text);
    if (!response.ok) {
      const error = errorOf(response, body, url, clock.now());
      return { error, mayPass: TEMPORARY.includes(response.status) };
    }
    if (body === undefined) {
      const requestId = response.headers.get("X-Request-Id");
      const facts = { status: response.status, requestId };
      throw new NotWake("not_wake", "The response is not JSON.", facts);
    }
    return { reply: { body, isReplayed: response.headers.get("Idempotency-Replayed") === "true" } };
  }

  #url(request: Request): URL {
    const url = new URL(this.#options.api + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value) url.searchParams.set(name, value);
    }
    return url;
  }

  #init(request: Request): RequestInit {
    const headers = new Headers({
      Authorization: `Bearer ${this.#options.key}`,
      Accept: "application/json",
      "User-Agent": `wake-client-js/${VERSION}`,
      ...request.headers,
    });
    // Redirects are not followed, because the key is sent only to the endpoint.
    const init: RequestInit = { method: request.method, headers, redirect: "manual" };
    if (request.content !== undefined) return { ...init, body: request.content };
    if (request.json === undefined) return init;
    headers.set("Content-Type", "application/json");
    return { ...init, body: JSON.stringify(request.json) };
  }
}

function timeLimit({ wait, content }: Request): number {
  return (content ? UPLOAD_MS : RESPONSE_MS) + (wait ?? 0) * 1000;
}

/**
 * Returns a signal that aborts with the caller's signal, or after a time. `AbortSignal.any` would do
 * the same, but not every runtime has it.
 */
function limitedSignal(
  signal: AbortSignal | undefined,
  ms: number,
): { signal: AbortSignal; end: () => void } {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(new Error(`no answer in ${ms / 1000} s`)), ms);
  signal?.addEventListener("abort", abort, { once: true });
  const end = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, end };
}

/** Returns the value of a JSON text, or undefined for any other text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageOf(failure: unknown): string {
  const cause = failure instanceof Error ? (failure.cause ?? failure) : failure;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}
