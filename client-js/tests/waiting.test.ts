import { expect, test } from "vitest";
import { ContentMismatch, isFinal } from "../src/index.js";
import { APPROVED, ID, PENDING, RECEIPT, reply, type Step, scripted } from "./scripted.js";

const EXPIRED = { ...PENDING, expired: true };
const DIGEST = "0".repeat(64);

test("waiting ends with the answer", async () => {
  const { wake, sent } = scripted([reply(PENDING), reply(PENDING), reply(APPROVED)]);

  const answer = await wake.wait(ID);

  expect(answer).toEqual(APPROVED);
  expect(sent.map(({ url }) => url.searchParams.get("wait"))).toEqual(["25", "25", "25"]);
});

test("a server without long polls is asked less and less often", async () => {
  const steps: Step[] = Array.from({ length: 9 }, () => reply(PENDING));
  const { wake, clock } = scripted([...steps, reply(APPROVED)]);

  await wake.wait(ID);

  expect(clock.slept).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
});

test("a server with long polls is asked again at once", async () => {
  const { wake, clock } = scripted([
    () => {
      clock.time += 25_000;
      return reply(PENDING);
    },
    reply(APPROVED),
  ]);

  await wake.wait(ID);

  expect(clock.slept).toEqual([]);
});

test("waiting ends with the time of the call", async () => {
  const { wake, clock } = scripted(Array.from({ length: 9 }, () => reply(PENDING)));
  const began = clock.now();

  const answer = await wake.wait(ID, { timeoutSeconds: 5 });

  expect(isFinal(answer)).toBe(false);
  expect(clock.now() - began).toBe(5_000);
});

test("an expired delivery ends the wait", async () => {
  const { wake } = scripted([reply(EXPIRED)]);

  expect((await wake.wait(ID)).expired).toBe(true);
});

test("an agent that has to wait never sees an answer that is expired and pending", async () => {
  const { wake } = scripted([
    reply(EXPIRED),
    reply(EXPIRED),
    reply({ ...APPROVED, expired: true }),
  ]);
  const { wake: other } = scripted(Array.from({ length: 9 }, () => reply(EXPIRED)));
  const receipt = { ...RECEIPT, status: "received", on_timeout: "hold", replayed: false } as const;

  expect((await wake.wait(receipt)).status).toBe("approved");
  expect(await other.wait(receipt, { timeoutSeconds: 3 })).toMatchObject({ expired: false });
});

test("a withdrawn delivery ends the wait, also of an agent that has to wait", async () => {
  const withdrawn = { ...EXPIRED, withdrawn_at: "2026-03-07T09:00:00.000000Z" };
  const { wake } = scripted([reply(withdrawn)]);

  expect((await wake.wait(ID, { mustWait: true })).withdrawn_at).toBe(withdrawn.withdrawn_at);
});

test("an answer to other content is not returned", async () => {
  const { wake } = scripted([reply({ ...APPROVED, digest: "1".repeat(64) })]);
  const { wake: without } = scripted([reply(APPROVED)]);
  const { wake: same } = scripted([reply({ ...APPROVED, digest: DIGEST })]);

  await expect(wake.wait(ID, { digest: DIGEST })).rejects.toThrow(ContentMismatch);
  await expect(without.wait(ID, { digest: DIGEST })).rejects.toThrow(ContentMismatch);
  expect((await same.wait(ID, { digest: DIGEST })).status).toBe("approved");
});

test("a sweep goes on to the last page, and keeps the place", async () => {
  const page = { total: 3, has_more: true, next_since: "first" };
  const { wake, sent } = scripted([
    reply({ ...page, deliveries: [APPROVED, APPROVED] }),
    reply({ ...page, deliveries: [APPROVED], has_more: false, next_since: "second" }),
  ]);

  const sweep = wake.responses({ since: "zero", wait: 5 });
  const answers = [];
  for await (const answer of sweep) answers.push(answer);

  expect(answers).toHaveLength(3);
  expect(sweep.nextSince).toBe("second");
  expect(sent.map(({ url }) => url.searchParams.get("since"))).toEqual(["zero", "first"]);
  expect(sent.map(({ url }) => url.searchParams.get("wait"))).toEqual(["5", null]);
  expect(sent[0]?.url.searchParams.get("status")).toBe("approved,rejected,redirected");
});

test("a sweep that stops in a page gets the page again", async () => {
  const page = { deliveries: [APPROVED, APPROVED], total: 2, has_more: false, next_since: "end" };
  const { wake } = scripted([reply(page)]);

  const sweep = wake.responses();
  for await (const _ of sweep) break;

  expect(sweep.nextSince).toBe(null);
});
