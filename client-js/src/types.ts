/**
 * Names the objects of the protocol. Their members have the protocol's names. src/wire.ts is
 * generated from the server's OpenAPI document.
 */

import type { components } from "./wire.js";

type Schemas = components["schemas"];

export type DeliveryType = "update" | "question" | "output" | "alert";
export type Status = "pending" | "approved" | "rejected" | "redirected";
export type OutcomeStatus = "done" | "failed" | "skipped";

type Sent = Pick<
  Schemas["DeliveryPayload"],
  | "headline"
  | "summary"
  | "callback_webhook"
  | "timeout_seconds"
  | "assumption"
  | "on_timeout"
  | "thread"
  | "supersedes"
  | "priority"
  | "quorum"
  | "irreversible"
  | "claim_within_seconds"
  | "digest"
  | "receipt"
>;

/** Contains the fields of a question. `headline` and `summary` are one line each, of up to 120 and
 * 280 characters. `details` may be any JSON object or a text. */
export type Question = { [Name in keyof Sent]: Sent[Name] | undefined } & {
  headline: string;
  summary: string;
  details?: object | string | null | undefined;
};

/** Contains the fields of a delivery. */
export type Delivery = Question & { type: DeliveryType };

/**
 * Confirms that a delivery is stored.
 *
 * `replayed` is true if an earlier request with the same Idempotency-Key had already stored it.
 * `on_timeout` is "hold" if the agent has to wait for the answer although it did not ask to. The
 * other members are present only if the delivery asked for its digest.
 */
export type Receipt = Schemas["Receipt"] & { replayed: boolean };

/**
 * Contains a person's answer to a delivery. The `status` is "pending" while there is no answer.
 *
 * `edited_content` is only set if the delivery was redirected. `expired` means that the deadline
 * passed without an answer. `late` means that the answer came after the deadline. `erased` means
 * that the server has deleted the answer's text since. `responded_by` is `{kind: "rule"}` if a rule
 * of the team answered instead of a person. `withdrawn_at` is set if the agent has withdrawn the
 * delivery. Then no answer comes, and `expired` does not mean that the agent may go on.
 */
export type Answer = Schemas["Answer"];

/** Contains one page of answers, oldest first. The next page begins at `next_since`. */
export type Sweep = Schemas["Sweep"];

export type Withdrawal = Schemas["Withdrawal"];

/** Confirms that a file is stored, for blocks.image() and blocks.file(). */
export type Upload = Schemas["Blob"];

/**
 * Confirms that an approval is used. A used approval never works again. `replayed` is true if an
 * earlier request with the same Idempotency-Key used it. If you chose the key, your program may
 * have acted already.
 */
export type Claim = Schemas["Claim"] & { replayed: boolean };

/** Confirms that the server stored what came of a delivery. */
export type Outcome = Schemas["OutcomeReceipt"];

/** Returns whether a person, or a rule of the team, has answered. */
export function isAnswered(answer: Answer): boolean {
  return answer.status !== "pending";
}

export function isWithdrawn(answer: Answer): boolean {
  return Boolean(answer.withdrawn_at);
}

/** Returns whether waiting is over: the delivery is answered, has expired or was withdrawn. */
export function isFinal(answer: Answer): boolean {
  return isAnswered(answer) || answer.expired || isWithdrawn(answer);
}

/** Returns whether the agent has to wait for the answer, even after the deadline. */
export function mustWait(receipt: { on_timeout?: string | null | undefined }): boolean {
  return receipt.on_timeout === "hold";
}
