import { checkAnswer, sha256 } from "../digest.js";
import {
  AlreadyAnswered,
  ContentMismatch,
  NotAccepted,
  NotClaimed,
  NotFound,
  WakeError,
} from "../errors.js";
import type { Store } from "../store.js";
import { type Answer, mustWait } from "../types.js";
import type { CallOptions, Wake } from "../wake.js";
import type { ToolCall } from "./calls.js";
import { type AskOptions, checkOptions, isTooLong, questionAbout } from "./questions.js";
import { type Asked, type Delivered, Records } from "./records.js";
import { oneLine } from "./texts.js";
import * as verdicts from "./verdicts.js";
import { deny, NotRun, type Verdict, verdictOf } from "./verdicts.js";

/** A server without these extensions uses no approval up. Then only the store keeps count. */
const NEEDED = ["digest", "claim", "outcome"];
const HAS_NO_LIST = [404, 405];
/** The server cannot read the arguments, for example because of U+0000, or they are too long for it. */
const UNREADABLE = [400, 413];
const REPLACED = "The agent now asks about the same call with other arguments.";
const LONGEST_SUMMARY = 280;
/** The server never accepts a report that it has refused so. */
const REFUSALS = [NotFound, NotAccepted, AlreadyAnswered];

export interface ApprovalOptions {
  /** Says how people are asked. */
  options?: AskOptions;
  /** Says how people are asked about single tools, by their names. */
  tools?: Record<string, AskOptions>;
}

/** A paused run whose calls are all answered. `state` is the text that save() stored. */
export interface AnsweredRun {
  framework: string;
  thread: string;
  /** The verdict of each call, by its id. */
  verdicts: Map<string, Verdict>;
  state: string | null;
  /** The ids of the records. */
  ids: string[];
}

/**
 * Asks people about calls of tools, and makes each approved call once. Several processes may use the
 * store at the same time.
 */
export class Approvals {
  readonly wake: Wake;
  readonly #records: Records;
  readonly #options: AskOptions;
  readonly #tools: ReadonlyMap<string, AskOptions>;
  #hasClaims: boolean | undefined;

  constructor(wake: Wake, store: Store, { options = {}, tools = {} }: ApprovalOptions = {}) {
    for (const each of [options, ...Object.values(tools)]) checkOptions(each);
    this.wake = wake;
    this.#records = new Records(store);
    this.#options = options;
    this.#tools = new Map(Object.entries(tools));
  }

  /** Stores a paused run as a text, for a framework that has no store of its own. Call it before
   * askAbout(). */
  async save(framework: string, thread: string, state: string): Promise<void> {
    await this.#records.save(framework, thread, state);
  }

  /** Asks people about a call, unless they were asked before. Asks again if the question was
   * withdrawn. A call that no person could read whole is denied. Throws WakeError. */
  async askAbout(call: ToolCall, options: CallOptions = {}): Promise<void> {
    await this.#records.checkOwner(this.wake.agentId);
    const asked = await this.#records.begin(call);
    await this.#withdrawEarlier(asked, options);
    if ((await this.#records.delivered(asked.id)) || (await this.#records.verdict(asked.id)))
      return;
    if (isTooLong(call)) {
      await this.#records.decide(asked, deny(verdicts.TOO_LONG));
      return;
    }
    try {
      await this.#deliver(asked, options);
    } catch (error) {
      if (!(error instanceof NotAccepted) || !UNREADABLE.includes(error.status ?? 0)) throw error;
      await this.#records.decide(asked, deny(verdicts.REFUSED + error.reason));
    }
  }

  /** Returns the verdict, or null if people may still answer. Throws WakeError. */
  async verdict(call: ToolCall, options: CallOptions = {}): Promise<Verdict | null> {
    return this.#verdict(call, (delivered) => this.wake.response(delivered.delivery_id, options));
  }

  /** Waits for the verdict, or for `timeoutSeconds`. Throws WakeError. */
  async wait(
    call: ToolCall,
    options: CallOptions & { timeoutSeconds?: number } = {},
  ): Promise<Verdict | null> {
    return this.#verdict(call, ({ delivery_id, waits }) =>
      this.wake.wait(delivery_id, { ...options, mustWait: waits }),
    );
  }

  /** Reads all new answers. Returns the runs whose calls are all answered, until resumed() is called
   * for them. Throws WakeError. */
  async answered(framework?: string, options: CallOptions = {}): Promise<AnsweredRun[]> {
    await this.#records.checkOwner(this.wake.agentId);
    await this.#reportEnds(options);
    await this.#sweep(["approved", "rejected", "redirected"], options);
    // No answer moves the cursor for the questions that have expired or were withdrawn.
    await this.#sweep(["pending"], options);
    return this.#runs(framework);
  }

  /** Records that a run went on, so that answered() does not return it again. */
  async resumed(run: AnsweredRun): Promise<void> {
    for (const id of run.ids) await this.#records.resumed(id);
    const left = (await this.#records.waiting()).some(
      ({ framework, thread }) => framework === run.framework && thread === run.thread,
    );
    if (!left) await this.#records.forgetState(run.framework, run.thread);
  }

  /**
   * Calls `resume` for each answered run, and returns these runs. A process that dies while it
   * resumes a run leaves the run to the next sweep. If another process resumes runs at this moment,
   * returns an empty list. Throws WakeError, or an AggregateError of everything that `resume` threw,
   * after the other runs.
   */
  async resumeAnswered(
    framework: string,
    resume: (run: AnsweredRun) => Promise<unknown>,
    options: CallOptions = {},
  ): Promise<AnsweredRun[]> {
    const runs: AnsweredRun[] = [];
    const failures: unknown[] = [];
    const work = async (): Promise<void> => {
      runs.push(...(await this.answered(framework, options)));
      for (const run of runs) {
        try {
          await resume(run);
          await this.resumed(run);
        } catch (failure) {
          failures.push(failure);
        }
      }
    };
    const { store } = this.#records;
    await (store.alone ? store.alone(`resume ${framework}`, work) : work());
    if (failures.length) {
      const reason = "Some runs could not be resumed. The next sweep tries them again.";
      throw new AggregateError(failures, reason);
    }
    return runs;
  }

  /**
   * Uses the approval of a call, and runs the tool: once for each approval. The arguments must be
   * those that a person approved, or those of a person's edit. Reports to people how the tool ended.
   * Throws NotRun if the tool must not run, WakeError if the server is away before the tool begins,
   * and the error of a tool that fails.
   */
  async run<Result>(
    call: ToolCall,
    tool: () => Result | Promise<Result>,
    options: CallOptions = {},
  ): Promise<Result> {
    const { id } = await this.#use(call, options);
    let result: Result;
    try {
      result = await tool();
    } catch (failure) {
      const text = failure instanceof Error ? `${failure.name}: ${failure.message}` : `${failure}`;
      await this.#records.end(id, { status: "failed", summary: oneLine(text, LONGEST_SUMMARY) });
      await this.#report(id, {});
      throw failure;
    }
    await this.#records.end(id, { status: "done" });
    await this.#report(id, {});
    return result;
  }

  /** Withdraws the question about other arguments of the same call. If the server is away, or the
   * process dies, the next askAbout() goes on from there. */
  async #withdrawEarlier(asked: Asked, options: CallOptions): Promise<void> {
    const earlier = await this.#records.earlier(asked);
    if (earlier) {
      const delivered = await this.#records.delivered(earlier.id);
      if (delivered && !(await this.#records.verdict(earlier.id))) {
        await this.#withdraw(earlier, delivered.delivery_id, options);
      }
      await this.#records.resumed(earlier.id);
    }
    await this.#records.makeNewest(asked);
  }

  async #withdraw(asked: Asked, deliveryId: string, options: CallOptions): Promise<void> {
    try {
      await this.wake.withdraw(deliveryId, REPLACED, options);
    } catch (error) {
      if (error instanceof AlreadyAnswered) return;
      throw error;
    }
    await this.#records.decide(asked, verdicts.WITHDRAWN);
  }

  async #deliver(asked: Asked, options: CallOptions): Promise<void> {
    const how = this.#tools.get(asked.tool) ?? this.#options;
    const question = questionAbout(asked, how, await this.#claims(options));
    // A program that is started again with other options sends another request, and the server
    // refuses another request under the first one's key.
    const idempotencyKey = `${asked.key}-${(await sha256(question)).slice(0, 16)}`;
    const receipt = await this.wake.deliver(
      { ...question, type: "question" },
      { ...options, idempotencyKey },
    );
    const delivered = {
      delivery_id: receipt.delivery_id,
      digest: receipt.digest ?? null,
      waits: (how.onTimeout ?? "wait") === "wait" || mustWait(receipt),
      created_at: receipt.created_at,
    };
    await this.#records.deliver(asked.id, delivered);
  }

  async #claims(options: CallOptions): Promise<boolean> {
    if (this.#hasClaims === undefined) {
      const extensions = await this.wake.extensions(options).catch((error: unknown) => {
        const hasNoList = error instanceof WakeError && HAS_NO_LIST.includes(error.status ?? 0);
        if (hasNoList) return new Set<string>();
        throw error;
      });
      this.#hasClaims = NEEDED.every((name) => extensions.has(name));
    }
    return this.#hasClaims;
  }

  async #verdict(
    call: ToolCall,
    read: (delivered: Delivered) => Promise<Answer>,
  ): Promise<Verdict | null> {
    const asked = await this.#records.find(call);
    const known = asked && (await this.#records.verdict(asked.id));
    if (known) return this.#records.decide(asked, known);
    const delivered = asked && (await this.#records.delivered(asked.id));
    if (!delivered) {
      throw new Error("Call askAbout() first. People were not asked about this call.");
    }
    const verdict = judged(delivered, await read(delivered));
    return verdict && this.#records.decide(asked, verdict);
  }

  /** Reads the answers of these statuses to the calls that wait. */
  async #sweep(
    status: ("pending" | "approved" | "rejected" | "redirected")[],
    options: CallOptions,
  ): Promise<void> {
    const open = new Map<string, { asked: Asked; delivered: Delivered }>();
    const places: string[] = [];
    for (const { since, ...asked } of await this.#records.waiting()) {
      const delivered = await this.#records.delivered(asked.id);
      if (!delivered || (await this.#records.verdict(asked.id))) continue;
      open.set(delivered.delivery_id, { asked, delivered });
      places.push(since ?? delivered.created_at);
    }
    if (open.size === 0) return;
    const isPending = status.includes("pending");
    const since = isPending ? undefined : places.sort()[0];
    const responses = this.wake.responses({ ...options, status, since });
    for await (const answer of responses) {
      const call = open.get(answer.delivery_id);
      const verdict = call && judged(call.delivered, answer);
      if (!verdict) continue;
      await this.#records.decide(call.asked, verdict);
      open.delete(answer.delivery_id);
    }
    if (isPending || responses.nextSince === null) return;
    // Calls that were delivered during the sweep have their own, later place to begin.
    for (const { asked } of open.values()) {
      await this.#records.continueAt(asked.id, responses.nextSince);
    }
  }

  async #runs(framework: string | undefined): Promise<AnsweredRun[]> {
    const runs = new Map<string, AnsweredRun>();
    const unanswered = new Set<string>();
    for (const asked of await this.#records.waiting()) {
      if (framework !== undefined && asked.framework !== framework) continue;
      const name = JSON.stringify([asked.framework, asked.thread]);
      const state = await this.#records.state(asked.framework, asked.thread);
      const { framework: of, thread } = asked;
      const begun = { framework: of, thread, verdicts: new Map(), state, ids: [] };
      const run: AnsweredRun = runs.get(name) ?? begun;
      runs.set(name, run);
      const verdict = await this.#records.verdict(asked.id);
      if (!verdict) unanswered.add(name);
      else run.verdicts.set(asked.callId, await this.#records.decide(asked, verdict));
      run.ids.push(asked.id);
    }
    return [...runs].filter(([name]) => !unanswered.has(name)).map(([, run]) => run);
  }

  /** Uses the approval of a call, just before the tool runs. The same use can be tried again. */
  async #use(call: ToolCall, options: CallOptions): Promise<Asked> {
    const asked = await this.#records.allowed(call);
    if (!asked) throw new NotRun(await this.#whyNot(call));
    const refusal = await this.#records.refusal(asked.id);
    if (refusal) throw new NotRun(refusal);
    if (await this.#records.hasStarted(asked.id)) throw new NotRun(await this.#howUsed(asked.id));
    await this.#claim(asked, options);
    if (!(await this.#records.start(asked.id))) throw new NotRun(await this.#howUsed(asked.id));
    return asked;
  }

  async #claim({ id }: Asked, options: CallOptions): Promise<void> {
    const delivered = await this.#records.delivered(id);
    if (!delivered?.digest) return; // the server has no claims
    const idempotencyKey = await this.#records.claimKey(id);
    try {
      await this.wake.claim(delivered.delivery_id, delivered.digest, {
        ...options,
        idempotencyKey,
      });
    } catch (error) {
      if (!(error instanceof NotClaimed)) throw error;
      const words = verdicts.notUsed(error.code, error.deliveryStatus);
      await this.#records.refuse(id, words);
      throw new NotRun(words, { cause: error });
    }
  }

  async #howUsed(id: string): Promise<string> {
    return (await this.#records.hasEnded(id)) ? verdicts.USED : verdicts.MAY_HAVE_RUN;
  }

  async #whyNot(call: ToolCall): Promise<string> {
    const asked = await this.#records.find(call);
    if (!asked) {
      return (await this.#records.isKnown(call)) ? verdicts.ANOTHER_CALL : verdicts.NOT_ASKED;
    }
    const verdict = await this.#records.verdict(asked.id);
    // An edit allows other arguments than those that people were asked about.
    return verdict ? verdicts.withoutEdit(verdict).words : verdicts.NOT_ANSWERED;
  }

  async #reportEnds(options: CallOptions): Promise<void> {
    for (const id of await this.#records.store.names("unreported")) await this.#report(id, options);
  }

  /** Reports the end of a call without a second try, because the agent waits for the result of its
   * tool. If the server is away, the next sweep reports it. */
  async #report(id: string, options: CallOptions): Promise<void> {
    const end = await this.#records.store.read("unreported", id);
    const [asked, delivered] = [await this.#records.asked(id), await this.#records.delivered(id)];
    if (!end || !asked || !delivered?.digest) return;
    const { status, summary } = end as { status: "done" | "failed"; summary?: string };
    try {
      await this.wake.report(delivered.delivery_id, status, summary, {
        ...options,
        retryForSeconds: 0,
        // If the response is lost, the next sweep repeats the same report.
        idempotencyKey: `${asked.key}-end`,
      });
      await this.#records.reported(id);
    } catch (error) {
      if (!(error instanceof WakeError)) throw error;
      if (REFUSALS.some((kind) => error instanceof kind)) await this.#records.reported(id);
    }
  }
}

function judged(delivered: Delivered, answer: Answer): Verdict | null {
  try {
    checkAnswer(answer, delivered.digest ?? undefined);
  } catch (error) {
    if (error instanceof ContentMismatch) return deny(verdicts.MISMATCH);
    throw error;
  }
  return verdictOf(answer, delivered.waits);
}
