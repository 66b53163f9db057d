import {
  answerOf,
  claimOf,
  extensionsOf,
  notWake,
  outcomeOf,
  receiptOf,
  sweepOf,
  uploadOf,
  withdrawalOf,
} from "./bodies.js";
import { type Clock, systemClock } from "./clock.js";
import { checkAnswer, checkReceipt, namedBlobs, type SentContent } from "./digest.js";
import { apiAddress, checkedKey } from "./endpoint.js";
import { Http } from "./http.js";
import { Responses, type SweepOptions } from "./responses.js";
import {
  type Answer,
  type Claim,
  type Delivery,
  isAnswered,
  isFinal,
  mustWait,
  type Outcome,
  type OutcomeStatus,
  type Question,
  type Receipt,
  type Sweep,
  type Upload,
  type Withdrawal,
} from "./types.js";
import { mediaTypeOf } from "./uploads.js";

export interface WakeOptions {
  /** The server's address, with or without `/wake/v1`. It must be https, except on this machine. */
  endpoint: string;
  /** The agent's key, `wk_live_...` or `wk_test_...`. */
  key: string;
  agentId: string;
  /** The name of the software, which people see. */
  provider?: string;
  /** How long a request is tried again while the server is away or asks to wait. */
  retryForSeconds?: number;
  fetch?: typeof globalThis.fetch;
  /** For tests. */
  clock?: Clock;
}

export interface CallOptions {
  /** Ends the call. The method then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** How long this call is tried again, instead of the client's own patience. */
  retryForSeconds?: number | undefined;
}

export interface DeliverOptions extends CallOptions {
  /** Pass a key if your program may be started again for the same work. */
  idempotencyKey?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** How long this call waits. Without it, the call waits until there is an answer. */
  timeoutSeconds?: number | undefined;
  /** The `mustWait()` of the receipt: waiting goes on after the deadline. */
  mustWait?: boolean | undefined;
  /** The `digest` of the receipt: an answer to other content throws ContentMismatch. */
  digest?: string | undefined;
}

export interface UploadOptions extends CallOptions {
  mediaType?: string | undefined;
}

const RETRY_FOR_SECONDS = 120;
const MAX_LONG_POLL_SECONDS = 25;
// A server without long polls answers immediately. The specification says how often to poll it.
const POLL_EVERY_MS = 60_000;
const FIRST_POLL_MS = 1_000;

/**
 * Delivers for one agent, with its key, and waits for answers.
 *
 * The constructor throws a TypeError for an invalid endpoint or key. Every method throws WakeError,
 * or the reason of its `signal`.
 */
export class Wake {
  readonly agentId: string;
  readonly #provider: string;
  readonly #clock: Clock;
  readonly #http: Http;
  /** The SHA-256 of each file that this client uploaded, by the id of its blob. */
  readonly #uploaded = new Map<string, string>();

  constructor(options: WakeOptions) {
    this.agentId = options.agentId;
    this.#provider = options.provider ?? "custom";
    this.#clock = options.clock ?? systemClock;
    this.#http = new Http({
      api: apiAddress(options.endpoint),
      key: checkedKey(options.key),
      // Some runtimes refuse a fetch that is called as a method of another object.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      clock: this.#clock,
      retryForSeconds: options.retryForSeconds ?? RETRY_FOR_SECONDS,
    });
  }

  /**
   * Delivers to people. If a response is lost, the request is sent again. The server still stores
   * the delivery only once. With `digest: true`, throws ContentMismatch if the server stored
   * something other than what was sent.
   */
  async deliver(delivery: Delivery, options: DeliverOptions = {}): Promise<Receipt> {
    const own = { agent_id: this.agentId, provider: this.#provider };
    const sent: SentContent = { ...own, ...withoutNulls(delivery) };
    const { body, isReplayed } = await this.#http.send(
      { method: "POST", path: "/deliver", headers: idempotent(options.idempotencyKey), json: sent },
      options,
    );
    const receipt = receiptOf(body, isReplayed);
    if (sent.digest) await checkReceipt(receipt, sent, this.#filesOf(sent));
    return receipt;
  }

  /** Delivers a question and waits for the answer, as deliver() and wait() do. */
  async ask(question: Question, options: DeliverOptions & WaitOptions = {}): Promise<Answer> {
    const receipt = await this.deliver({ ...question, type: "question" }, options);
    return this.wait(receipt, options);
  }

  /** Returns the delivery's current answer, without waiting for a person. */
  async response(deliveryId: string, options: CallOptions = {}): Promise<Answer> {
    return this.#poll(deliveryId, 0, options);
  }

  /**
   * Waits until a person answers, or until the delivery expires or is withdrawn, or for
   * `timeoutSeconds`.
   *
   * Pass the receipt, or the delivery's id with `mustWait` and `digest` of its receipt. If the agent
   * has to wait, waiting goes on after the deadline, and a pending answer is never `expired`. An
   * answer to other content throws ContentMismatch. Check the `status` of the answer, because it may
   * still be "pending". Throws Unavailable if the server is away for too long. Nothing is lost then.
   * Call wait() again.
   */
  async wait(delivery: Receipt | string, options: WaitOptions = {}): Promise<Answer> {
    const receipt = typeof delivery === "string" ? undefined : delivery;
    const deliveryId = receipt?.delivery_id ?? String(delivery);
    const digest = options.digest ?? receipt?.digest;
    const hasToWait = options.mustWait ?? (receipt ? mustWait(receipt) : false);
    const { now } = this.#clock;
    const until =
      options.timeoutSeconds === undefined ? undefined : now() + options.timeoutSeconds * 1000;
    const msLeft = (): number => (until === undefined ? Number.POSITIVE_INFINITY : until - now());
    for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 2, POLL_EVERY_MS)) {
      const wait = Math.max(1, Math.min(MAX_LONG_POLL_SECONDS, Math.floor(msLeft() / 1000)));
      const askedAt = now();
      let answer = await this.#poll(deliveryId, wait, { ...options, until });
      checkAnswer(answer, digest);
      if (hasToWait && !isAnswered(answer)) answer = { ...answer, expired: false };
      if (isFinal(answer) || msLeft() <= 0) return answer;
      if (now() - askedAt >= wait * 500) {
        pause = FIRST_POLL_MS / 2; // the server has long polls
        continue;
      }
      await this.#clock.sleep(Math.max(0, Math.min(pause, msLeft())), options.signal);
    }
  }

  /**
   * Iterates over the answers of all pages. Store `nextSince` of the returned object for the next
   * time.
   */
  responses(options: SweepOptions & CallOptions = {}): Responses {
    return new Responses(this, options);
  }

  /** Returns one page of the answers after `since`. If there are none, the server waits for up to
   * `wait` seconds (at most 25). */
  async sweep(options: SweepOptions & CallOptions = {}): Promise<Sweep> {
    const { since, status, limit, wait = 0 } = options;
    const query = {
      agent_id: this.agentId,
      status: status?.join(","),
      since: since ?? undefined,
      limit: limit?.toString(),
      wait: wait ? String(wait) : undefined,
    };
    const { body } = await this.#http.send(
      { method: "GET", path: "/responses", query, wait },
      options,
    );
    return sweepOf(body);
  }

  /**
   * Takes a delivery that no longer needs an answer out of the inbox. People see the reason. Throws
   * AlreadyAnswered if a person was faster. Read the answer then.
   */
  async withdraw(
    deliveryId: string,
    reason?: string,
    options: CallOptions = {},
  ): Promise<Withdrawal> {
    const { body } = await this.#http.send(
      {
        method: "POST",
        path: `/withdraw/${encodeURIComponent(deliveryId)}`,
        json: reason ? { reason } : {},
      },
      options,
    );
    return withdrawalOf(body);
  }

  /**
   * Uses an approval, just before you act on it. `digest` comes from the receipt. Pass an
   * `idempotencyKey` only to repeat the same attempt to act. Never derive the key from the
   * delivery's id: each claim with that key would return the first claim again.
   *
   * Throws NotClaimed if the approval was used before, is missing, is for something else, or came
   * too late. Do not act then.
   */
  async claim(deliveryId: string, digest: string, options: DeliverOptions = {}): Promise<Claim> {
    const { body, isReplayed } = await this.#http.send(
      {
        method: "POST",
        path: `/claim/${encodeURIComponent(deliveryId)}`,
        headers: idempotent(options.idempotencyKey),
        json: { digest },
      },
      options,
    );
    return about(deliveryId, claimOf(body, isReplayed));
  }

  /** Tells people what came of a delivery, with one line of up to 280 characters. */
  async report(
    deliveryId: string,
    status: OutcomeStatus,
    summary?: string,
    options: DeliverOptions & { details?: object | string | undefined } = {},
  ): Promise<Outcome> {
    const { body } = await this.#http.send(
      {
        method: "POST",
        path: `/outcome/${encodeURIComponent(deliveryId)}`,
        headers: idempotent(options.idempotencyKey),
        json: withoutNulls({ status, summary, details: options.details }),
      },
      options,
    );
    return outcomeOf(body);
  }

  /** Returns the names of the server's extensions, such as "claim". */
  async extensions(options: CallOptions = {}): Promise<ReadonlySet<string>> {
    const { body } = await this.#http.send({ method: "GET", path: "" }, options);
    return extensionsOf(body);
  }

  /** Stores a file for blocks.image() and blocks.file(). PNG, JPEG, WebP and GIF are pictures, unless
   * you name a type such as "application/octet-stream". */
  async upload(
    content: Uint8Array<ArrayBuffer> | Blob,
    options: UploadOptions = {},
  ): Promise<Upload> {
    const type = options.mediaType ?? (await mediaTypeOf(content));
    // The same bytes are the same blob, so a second try stores nothing.
    const { body } = await this.#http.send(
      { method: "POST", path: "/blobs", headers: { "Content-Type": type }, content },
      options,
    );
    const upload = uploadOf(body);
    this.#uploaded.set(upload.blob_id, upload.sha256);
    return upload;
  }

  async #poll(
    deliveryId: string,
    wait: number,
    options: CallOptions & { until?: number | undefined },
  ): Promise<Answer> {
    const path = `/response/${encodeURIComponent(deliveryId)}`;
    const query = { wait: wait ? String(wait) : undefined };
    const { body } = await this.#http.send({ method: "GET", path, query, wait }, options);
    return about(deliveryId, answerOf(body));
  }

  /** Returns the SHA-256 of each file that the details name, or undefined if another client uploaded
   * one of them. */
  #filesOf(sent: SentContent): string[] | undefined {
    const files = namedBlobs(sent.details).map((id) => this.#uploaded.get(id));
    return files.every((sha256) => sha256 !== undefined) ? files : undefined;
  }
}

/** Returns the body. Throws NotWake if it is about another delivery. */
function about<Body extends { delivery_id: string }>(deliveryId: string, body: Body): Body {
  if (body.delivery_id.toLowerCase() === deliveryId.toLowerCase()) return body;
  throw notWake(`the response for ${deliveryId} is about ${body.delivery_id}`);
}

/** All tries of a call have one key. If the first try was stored and only its response was lost, the
 * second try stores nothing. */
function idempotent(key: string | undefined): Record<string, string> {
  return { "Idempotency-Key": key ?? crypto.randomUUID() };
}

function withoutNulls<Fields extends object>(fields: Fields): Fields {
  const given = Object.entries(fields).filter(([, value]) => value != null);
  return Object.fromEntries(given) as Fields;
}
