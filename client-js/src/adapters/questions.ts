/** Turns a call into a question for people, with every argument whole. */

import * as blocks from "../blocks.js";
import type { Question } from "../types.js";
import type { Arguments, ToolCall } from "./calls.js";
import { oneLine } from "./texts.js";

/** A person decides about what they can read. A call with longer arguments is denied. */
export const MAX_CHARACTERS = 20_000;
/** The page shows about 400 lines of one block open, and 100 blocks. */
export const MAX_VALUES = 300;
const MAX_LONG = 50;
const LONGEST_HEADLINE = 120;
const LONGEST_SUMMARY = 280;
const LONGEST_THREAD = 128;
/** A longer value gets a block of its own. */
const LONGEST_LINE = 200;
const REJECTS = "The agent gets no approval, and does not make the call.";
const WAITS = "The agent waits. Without an approval it does not make the call.";

/**
 * Says how people are asked about the calls of a tool.
 *
 * `timeoutSeconds` is the deadline that people see. `onTimeout` says what happens if no one answers
 * before the deadline: "reject" denies the call, and "wait" (the default) goes on waiting.
 * `headline` and `summary` make the words of the question from the call. The other fields are those
 * of a delivery (docs/protocol.md, Fields).
 */
export interface AskOptions {
  timeoutSeconds?: number;
  onTimeout?: "reject" | "wait";
  irreversible?: boolean;
  quorum?: number;
  priority?: "low" | "normal" | "high";
  claimWithinSeconds?: number;
  headline?: (call: ToolCall) => string;
  summary?: (call: ToolCall) => string;
}

/** Throws a TypeError for options that say nothing or too much. */
export function checkOptions({ onTimeout = "wait", timeoutSeconds }: AskOptions): void {
  if (onTimeout !== "reject" && onTimeout !== "wait") {
    throw new TypeError('onTimeout is "reject" or "wait". No time-out approves a call.');
  }
  if (onTimeout === "reject" && timeoutSeconds === undefined) {
    throw new TypeError('onTimeout: "reject" needs timeoutSeconds.');
  }
}

/** Returns whether a person could not read all arguments on one page. */
export function isTooLong(call: ToolCall): boolean {
  const characters = [...JSON.stringify(call.arguments)].length;
  return characters > MAX_CHARACTERS || countValues(call.arguments) > MAX_VALUES;
}

/** Returns the question about a call. With `digest`, the receipt and the answer carry the digest of
 * what people see, which a claim needs. */
export function questionAbout(call: ToolCall, options: AskOptions, digest: boolean): Question {
  const asks = `An agent (${call.framework}) asks before it calls ${call.tool}.`;
  return {
    headline: oneLine(options.headline?.(call) ?? `Call ${call.tool}?`, LONGEST_HEADLINE),
    summary: oneLine(options.summary?.(call) ?? asks, LONGEST_SUMMARY),
    details: detailsOf(call),
    thread: oneLine(`${call.framework}: ${call.thread}`, LONGEST_THREAD),
    priority: options.priority,
    quorum: options.quorum,
    irreversible: options.irreversible || undefined,
    claim_within_seconds: options.claimWithinSeconds,
    digest: digest || undefined,
    ...deadlineOf(options),
  };
}

function deadlineOf({ timeoutSeconds, onTimeout }: AskOptions): Partial<Question> {
  if (timeoutSeconds === undefined) return {};
  const rejects = onTimeout === "reject";
  return {
    timeout_seconds: timeoutSeconds,
    on_timeout: rejects ? "abort" : "hold",
    assumption: rejects ? REJECTS : WAITS,
  };
}

/** Returns blocks that together show every argument once and whole. The proposal is the part that a
 * person edits. */
function detailsOf(call: ToolCall): object {
  const all = Object.entries(call.arguments);
  const tooMany = all.filter(([, value]) => isLong(value)).length > MAX_LONG;
  const long = tooMany ? [] : all.filter(([, value]) => isLong(value));
  const short = all.filter((each) => !long.includes(each));
  const where = { framework: call.framework, tool: call.tool, thread: call.thread };
  return blocks.page(
    [
      ...(short.length ? [blocks.pairs(Object.fromEntries(short), { title: "Arguments" })] : []),
      ...long.map(([name, text]) => blocks.code(String(text), { title: name })),
      blocks.pairs(where, { title: "Where" }),
    ],
    { proposal: call.arguments },
  );
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && (value.length > LONGEST_LINE || value.includes("\n"));
}

/** Returns the number of values in a JSON value, with itself. */
function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const inner = Object.values(value as Arguments).map(countValues);
  return inner.reduce((sum, count) => sum + count, 1);
}
