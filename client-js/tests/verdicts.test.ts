import { expect, test } from "vitest";
import { withoutEdit } from "../src/adapters/index.js";
import { isTooLong, questionAbout } from "../src/adapters/questions.js";
import { verdictOf } from "../src/adapters/verdicts.js";
import { APPROVED, PENDING } from "./scripted.js";

const CALL = {
  ...{ framework: "AI SDK", thread: "t", callId: "c", tool: "refund" },
  arguments: { order: "A-1042", note: "two\nlines" },
};
const EXPIRED = { ...PENDING, expired: true };
const EDIT = { ...APPROVED, status: "redirected", edited_content: { cents: 1 } };

test.each([
  ["approved", APPROVED, "allow", ""],
  ["approved with a note", { ...APPROVED, feedback: " Go. " }, "allow", "Go."],
  ["rejected", { ...APPROVED, status: "rejected", feedback: "No." }, "deny", "No."],
  ["rejected silently", { ...APPROVED, status: "rejected" }, "deny", "A person rejected"],
  ["redirected with arguments", EDIT, "edit", ""],
  ["redirected with words", { ...EDIT, edited_content: "Ask Ann." }, "deny", "Ask Ann."],
  ["redirected with nothing", { ...EDIT, edited_content: null }, "deny", "neither approved"],
  [
    "a number that is not exact",
    { ...EDIT, edited_content: { a: [2 ** 53] } },
    "deny",
    "too large",
  ],
  ["erased", { ...APPROVED, erased: true }, "deny", "erased"],
  ["withdrawn", { ...PENDING, withdrawn_at: "2026-03-07T09:14:22Z" }, "deny", "withdrawn"],
] as const)("%s", (_, answer, decision, words) => {
  for (const waits of [true, false]) {
    const verdict = verdictOf(answer as typeof PENDING as never, waits);
    expect(verdict).toMatchObject({ decision, words: expect.stringContaining(words) });
  }
});

test("no time-out is an approval", () => {
  const late = { ...APPROVED, late: true } as never;

  expect(verdictOf(PENDING as never, false)).toBe(null);
  expect(verdictOf(EXPIRED as never, false)).toMatchObject({ decision: "deny" });
  expect(verdictOf(EXPIRED as never, true)).toBe(null);
  expect(verdictOf(late, false)).toMatchObject({ decision: "deny" });
  expect(verdictOf(late, true)).toMatchObject({ decision: "allow" });
});

test("an edit becomes words where a framework cannot replace arguments", () => {
  const edit = { decision: "edit", words: "Half.", arguments: { a: "\u202e" } } as const;

  expect(withoutEdit(edit)).toEqual({
    decision: "deny",
    words: expect.stringContaining('exactly these: {"a":"\\u202e"} Half.'),
  });
});

test("a question shows every argument whole, and what happens without an answer", () => {
  const options = { timeoutSeconds: 60, onTimeout: "reject", irreversible: true } as const;

  expect(questionAbout(CALL, options, true)).toMatchObject({
    headline: "Call refund?",
    summary: "An agent (AI SDK) asks before it calls refund.",
    ...{ thread: "AI SDK: t", digest: true, irreversible: true },
    ...{ timeout_seconds: 60, on_timeout: "abort" },
    details: {
      blocks: [
        { type: "kv", title: "Arguments", items: { order: "A-1042" } },
        { type: "code", title: "note", text: "two\nlines" },
        { type: "kv", title: "Where", items: { framework: "AI SDK", tool: "refund", thread: "t" } },
      ],
      proposal: CALL.arguments,
    },
  });
  expect(questionAbout(CALL, { timeoutSeconds: 60 }, true)).toMatchObject({ on_timeout: "hold" });
  expect(questionAbout({ ...CALL, tool: "a\u202eb" }, {}, false).headline).toBe("Call a⟨U+202E⟩b?");
});

test("a person could not read everything", () => {
  const withArguments = (value: unknown): boolean =>
    isTooLong({ ...CALL, arguments: { value } as Record<string, unknown> });

  expect(withArguments("x".repeat(19_000))).toBe(false);
  expect(withArguments("x".repeat(20_001))).toBe(true);
  expect(withArguments(Array(290).fill(1))).toBe(false);
  expect(withArguments(Array(300).fill(1))).toBe(true);
});
