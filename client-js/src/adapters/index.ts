/**
 * Lets an agent of any framework wait for people (docs/adapters/README.md). An adapter asks about a
 * call of a tool, reads the answer after a restart, and makes an approved call once.
 */

export { type AnsweredRun, type ApprovalOptions, Approvals } from "./approvals.js";
export type { Arguments, ToolCall } from "./calls.js";
export type { AskOptions } from "./questions.js";
export { type Denial, NotRun, type Verdict, withoutEdit } from "./verdicts.js";
