/**
 * Says what each answer means for the call that people were asked about. No other module of this
 * package allows a call (docs/adapters/README.md has the table).
 */

import { type Answer, isAnswered, isWithdrawn } from "../types.js";
import type { Arguments } from "./calls.js";
import { MAX_CHARACTERS, MAX_VALUES } from "./questions.js";
import { visibleJson } from "./texts.js";

const REJECTED = "A person rejected this call. Do not make it again unless you are asked to.";
const EXPIRED = "No one approved this call before its deadline, so it was not made.";
const ERASED = "The answer to this call was erased, so the call was not made.";
const UNCLEAR = "A person answered, but neither approved the call nor changed it. It was not made.";
const CHANGED = "A person changed the arguments. Call the tool again with exactly these: ";
const TOO_LARGE =
  "A person changed the arguments, but a number in them is too large for JavaScript. The call was " +
  "not made.";
export const TOO_LONG: string =
  `The arguments have more than ${MAX_CHARACTERS.toLocaleString("en")} characters or ${MAX_VALUES} ` +
  "values, so no person could read them before a decision. No one was asked. Split the call into " +
  "smaller ones.";
export const REFUSED: string = "People could not be asked about this call, so it was not made. ";
export const NOT_ASKED = "No person was asked about this call, so it was not made.";
export const NOT_ANSWERED = "No person has answered yet, so the call was not made.";
export const ANOTHER_CALL: string =
  "People were asked about other arguments than these, so the call was not made. Make the call " +
  "again to ask about it.";
export const MISMATCH =
  "People answered other content than the agent sent, so the call was not made.";
export const MAY_HAVE_RUN: string =
  "This call was started before, and its end is not known. It may have run already. It was not " +
  "made again. Find out what happened before you go on.";
export const USED =
  "This call was made before, and an approval is for one call. It was not made again.";
/** The reason for each error code of a refused claim. */
const NOT_USED: Record<string, string> = {
  already_claimed: "This approval was used before, and it is for one call. The call was not made.",
  not_approved: "The approval was taken back, so the call was not made.",
  approval_expired:
    "The time to use this approval is over, so the call was not made. Make the call again to ask " +
    "about it.",
  digest_mismatch: MISMATCH,
};
const SUPERSEDED = "People decided about a newer version of this call, so this one was not made.";
const NOT_USABLE = "This approval cannot be used, so the call was not made.";

/** The call was not made. The message is the reason, in words for the model. */
export class NotRun extends Error {
  override name = "NotRun";
}

/**
 * Holds the decision about a call. `words` are never empty for "deny": the reason, for the model.
 * Beside an approval or an edit, they are the note of the person, or empty. `arguments` are set for
 * "edit": they replace all arguments of the call. A call whose question was `withdrawn` can be asked
 * about again.
 */
export type Verdict =
  | { decision: "allow"; words: string }
  | { decision: "edit"; words: string; arguments: Arguments }
  | Denial;

export interface Denial {
  decision: "deny";
  words: string;
  withdrawn?: boolean;
}

export const WITHDRAWN: Denial = {
  decision: "deny",
  words: "The question about this call was withdrawn, so the call was not made.",
  withdrawn: true,
};

export function deny(words: string): Denial {
  return { decision: "deny", words };
}

/** Returns the verdict for a framework that cannot replace arguments: an edit becomes a denial that
 * names the arguments. */
export function withoutEdit(verdict: Verdict): Exclude<Verdict, { decision: "edit" }> {
  if (verdict.decision !== "edit") return verdict;
  return deny(`${CHANGED}${visibleJson(verdict.arguments)} ${verdict.words}`.trimEnd());
}

/** Returns the verdict of an answer, or null as long as people may still answer. With `waits`, the
 * deadline decides nothing. */
export function verdictOf(answer: Answer, waits: boolean): Verdict | null {
  if (!isAnswered(answer)) {
    if (isWithdrawn(answer)) return WITHDRAWN;
    return answer.expired && !waits ? deny(EXPIRED) : null;
  }
  if (answer.erased) return deny(ERASED);
  const words = answer.feedback?.trim() ?? "";
  if (answer.status === "rejected") return deny(words || REJECTED);
  // The same verdict, whether the program looked before or after.
  if (answer.late && !waits) return deny(`${EXPIRED} ${words}`.trimEnd());
  if (answer.status === "approved") return { decision: "allow", words };
  return redirected(answer.edited_content, words);
}

/** Returns the reason why the server does not let the program use an approval. */
export function notUsed(code: string, deliveryStatus: string | null): string {
  if (deliveryStatus === "superseded") return SUPERSEDED;
  return NOT_USED[code] ?? NOT_USABLE;
}

function redirected(edit: Answer["edited_content"], words: string): Verdict {
  if (typeof edit === "object" && edit !== null) {
    if (hasInexactNumber(edit)) return deny(`${TOO_LARGE} ${words}`.trimEnd());
    return { decision: "edit", words, arguments: edit as Arguments };
  }
  const texts = [words, edit?.trim()].filter(Boolean);
  return deny(texts.join("\n") || UNCLEAR);
}

/** Returns whether JSON.parse() may have changed a whole number. */
function hasInexactNumber(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === "object" && value !== null && Object.values(value).some(hasInexactNumber);
}
