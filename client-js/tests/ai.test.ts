import { expect, test } from "vitest";
import { Approvals } from "../src/adapters/index.js";
import { park, resumeAnswered } from "../src/ai.js";
import { MemoryStore } from "../src/index.js";
import { Inbox } from "./inbox.js";

test("stored messages come back as they were, with their bytes", async () => {
  const inbox = new Inbox();
  const approvals = new Approvals(inbox.wake, new MemoryStore());
  const input = JSON.parse(
    '{"$bytes": [1, 2], "$$bytes": [3], "list": [{"$ref": "#"}], "__proto__": 1}',
  );
  const file = { type: "file", data: Uint8Array.of(1, 2), mediaType: "image/png" };
  const call = { type: "tool-call", toolCallId: "c", toolName: "attach", input };
  const request = { type: "tool-approval-request", approvalId: "a", toolCallId: "c" };
  const messages = [
    { role: "user", content: [file, { ...file, data: Buffer.from([3]) }] },
    { role: "assistant", content: [call, request] },
  ];
  await park(approvals, "t", messages);
  inbox.respond();

  const resumed: object[] = [];
  await resumeAnswered(approvals, async (_, stored) => resumed.push(...stored));

  const response = { type: "tool-approval-response", approvalId: "a", approved: true };
  expect(resumed).toEqual([
    { role: "user", content: [file, { ...file, data: Uint8Array.of(3) }] },
    messages[1],
    { role: "tool", content: [response] },
  ]);
});
