/** Asks people over the WAKE protocol, from any JavaScript agent. */

export * as blocks from "./blocks.js";
export { Book } from "./book.js";
export type { Clock } from "./clock.js";
export { contentDigest } from "./digest.js";
export {
  AlreadyAnswered,
  ContentMismatch,
  type FieldProblem,
  KeyNotValid,
  NotAccepted,
  NotAllowed,
  NotClaimed,
  NotFound,
  NotWake,
  TooManyRequests,
  Unavailable,
  WakeError,
} from "./errors.js";
export { Responses, type SweepOptions } from "./responses.js";
export { MemoryStore, type Store } from "./store.js";
export * from "./types.js";
export { VERSION } from "./version.js";
export {
  type CallOptions,
  type DeliverOptions,
  type UploadOptions,
  type WaitOptions,
  Wake,
  type WakeOptions,
} from "./wake.js";
export { type CallbackHeaders, SignatureMismatch, type VerifyOptions, verify } from "./webhooks.js";
