import { describe, expect, test } from "vitest";
import * as wakeClient from "../src/index.js";
import { Wake, WakeError } from "../src/index.js";
import { APPROVED, failure, ID, PENDING, RECEIPT, reply, scripted } from "./scripted.js";

const QUESTION = { type: "question", headline: "Paint it red?", summary: "Red is left." } as const;

test("a lost response is asked for again with the same key", async () => {
  const { wake, sent } = scripted([
    new TypeError("reset"),
    failure(503, "unavailable"),
    reply(RECEIPT, 201),
  ]);

  const receipt = await wake.deliver(QUESTION);

  const keys = sent.map(({ headers }) => headers.get("Idempotency-Key"));
  expect(receipt).toMatchObject({ delivery_id: ID, replayed: false });
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
});

test("each call has a key of its own, unless the caller chose one", async () => {
  const { wake, sent } = scripted([1, 2, 3].map(() => reply(RECEIPT, 201)));

  await wake.deliver(QUESTION);
  await wake.deliver(QUESTION);
  await wake.deliver(QUESTION, { idempotencyKey: "mine" });

  const [first, second, mine] = sent.map(({ headers }) => headers.get("Idempotency-Key"));
  expect(first).not.toBe(second);
  expect(mine).toBe("mine");
});

test("a request has the key, the agent and no nulls, and follows no redirect", async () => {
  const { wake, sent } = scripted([reply(RECEIPT, 201)], {
    endpoint: "https://wake.example.com/wake/v1/",
  });

  await wake.deliver({
    ...QUESTION,
    assumption: null,
    timeout_seconds: undefined,
    thread: "fence",
  });

  expect(sent[0]?.url.href).toBe("https://wake.example.com/wake/v1/deliver");
  expect(sent[0]?.headers.get("Authorization")).toBe("Bearer wk_live_a");
  expect(sent[0]?.init.redirect).toBe("manual");
  expect(sent[0]?.json).toEqual({
    agent_id: "painter",
    provider: "custom",
    ...QUESTION,
    thread: "fence",
  });
});

test.each([
  ["7", 7],
  ["Sat, 07 Mar 2026 09:00:30 GMT", 30],
  ["Saturday, 07-Mar-26 09:00:30 GMT", 30],
  ["Sat Mar  7 09:00:30 2026", 30],
])("Retry-After %s is obeyed", async (header, seconds) => {
  const { wake, clock } = scripted([
    failure(429, "rate_limited", { "Retry-After": header }),
    reply(PENDING),
  ]);

  await wake.response(ID);

  expect(clock.slept).toHaveLength(1);
  expect(clock.slept[0]).toBeGreaterThanOrEqual(seconds * 1000);
  expect(clock.slept[0]).toBeLessThanOrEqual(seconds * 1100 + 500);
});

test("a pause that is longer than the patience ends the call", async () => {
  const { wake, sent } = scripted([failure(429, "rate_limited", { "Retry-After": "121" })]);

  await expect(wake.response(ID)).rejects.toMatchObject({
    name: "TooManyRequests",
    retryAfter: 121,
  });
  expect(sent).toHaveLength(1);
});

test("a server that stays away is given up after the patience", async () => {
  const { wake, clock } = scripted(Array.from({ length: 500 }, () => new TypeError("refused")));
  const began = clock.now();

  await expect(wake.response(ID)).rejects.toMatchObject({
    name: "Unavailable",
    code: "unreachable",
  });
  expect(clock.now() - began).toBeGreaterThan(60_000);
  expect(clock.now() - began).toBeLessThanOrEqual(120_000);
});

test.each([
  [400, "malformed", "NotAccepted"],
  [401, "unauthorized", "KeyNotValid"],
  [403, "paused", "NotAllowed"],
  [404, "not_found", "NotFound"],
  [409, "already_answered", "AlreadyAnswered"],
  [409, "already_claimed", "NotClaimed"],
  [422, "invalid_field", "NotAccepted"],
  [500, "internal", "Unavailable"],
])("a %i %s is %s, at once", async (status, code, name) => {
  const { wake, sent } = scripted([failure(status, code, { "X-Request-Id": "r-1" })]);

  await expect(wake.response(ID)).rejects.toMatchObject({ name, code, status, requestId: "r-1" });
  expect(sent).toHaveLength(1);
});

test("the problems of fields are in the error", async () => {
  const fields = [{ field: "headline", code: "too_long", message: "It is too long." }];
  const error = { code: "invalid_field", message: "A field does not fit.", fields };
  const { wake } = scripted([reply({ error }, 422)]);

  const caught = await wake.deliver(QUESTION).catch((each: unknown) => each);

  expect(caught).toBeInstanceOf(WakeError);
  expect(caught).toMatchObject({
    fields,
    message: expect.stringContaining("headline: It is too long."),
  });
});

test("a redirect is an error that names the other address", async () => {
  const { wake, sent } = scripted([
    new Response("", { status: 301, headers: { Location: "https://other.example.com/" } }),
  ]);

  await expect(wake.response(ID)).rejects.toThrow(/redirect to https:\/\/other\.example\.com\//);
  expect(sent).toHaveLength(1);
});

test.each([
  new Response("<html>", { status: 200 }),
  reply({ ...PENDING, status: "perhaps" }),
  reply({ ...APPROVED, delivery_id: "another" }),
  reply({ delivery_id: ID, status: "approved" }),
  new Response("Not Found", { status: 404 }),
])("what is no answer of Wake is never taken for one", async (response) => {
  const { wake } = scripted([response]);

  await expect(wake.response(ID)).rejects.toMatchObject({ name: "NotWake" });
});

describe("a signal", () => {
  const stopped = new Error("stopped");

  test("that is aborted sends nothing", async () => {
    const { wake, sent } = scripted([reply(PENDING)]);

    await expect(wake.response(ID, { signal: AbortSignal.abort(stopped) })).rejects.toBe(stopped);
    expect(sent).toHaveLength(0);
  });

  test("ends a request", async () => {
    const controller = new AbortController();
    const { wake, sent } = scripted([
      ({ init }) =>
        new Promise((_, reject) => {
          init.signal?.addEventListener("abort", () => reject(new Error("aborted")));
          controller.abort(stopped);
        }),
    ]);

    await expect(wake.wait(ID, { signal: controller.signal })).rejects.toBe(stopped);
    expect(sent).toHaveLength(1);
  });

  test("ends the pause between two tries", async () => {
    const controller = new AbortController();
    const { wake, sent } = scripted([
      () => {
        controller.abort(stopped);
        return failure(503, "unavailable");
      },
    ]);

    await expect(wake.wait(ID, { signal: controller.signal })).rejects.toBe(stopped);
    expect(sent).toHaveLength(1);
  });
});

test.each([
  ["http://wake.example.com", /https/],
  ["ftp://wake.example.com", /https/],
  ["wake.example.com", /not a valid address/],
  ["https://me:secret@wake.example.com", /no password/],
  ["https://wake.example.com/?a=1", /no password, query/],
  ["https://wake.example.com/@team/agent", /Its server is https:\/\/wake\.example\.com/],
])("a key is not sent to %s", (endpoint, reason) => {
  expect(() => new Wake({ endpoint, key: "wk_live_a", agentId: "painter" })).toThrow(reason);
});

test.each(["", " ", "wk_live a", "wk_live_\n1", "ключ"])(
  "%j is no key, and no error has it",
  (key) => {
    const make = (): Wake => new Wake({ endpoint: "https://wake.example.com", key, agentId: "a" });

    expect(make).toThrow(TypeError);
    if (key.trim()) expect(make).not.toThrow(key);
  },
);

test("a server on this machine needs no https", () => {
  for (const endpoint of ["http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000"]) {
    expect(() => new Wake({ endpoint, key: "wk_live_a", agentId: "a" })).not.toThrow();
  }
});

test("the version is that of the package", async () => {
  const { version } = (await import("../package.json", { with: { type: "json" } })).default;

  expect(wakeClient.VERSION).toBe(version);
});

test.each([
  { delivery: { details: { cents: 1n } }, options: {} },
  { delivery: {}, options: { idempotencyKey: "deploy → 42" } },
])("a request that cannot be sent is not tried ($options)", async ({ delivery, options }) => {
  const { wake, sent, clock } = scripted([]);
  const update = { type: "update", headline: "h", summary: "s", ...delivery } as const;

  await expect(wake.deliver(update, options)).rejects.toThrow(TypeError);

  expect(sent).toEqual([]);
  expect(clock.slept).toEqual([]);
});

test.each(["null", '{"extensions": "claim"}'])(
  "extensions are a list, and not %s",
  async (body) => {
    const { wake } = scripted([new Response(body)]);

    await expect(wake.extensions()).rejects.toMatchObject({ name: "NotWake" });
  },
);

test("a claim of another delivery is no claim of this one", async () => {
  const other = ID.replace("5", "6");
  const claim = { delivery_id: other, claim_id: "c", status: "approved", claimed_at: "now" };
  const { wake } = scripted([reply(claim)]);

  await expect(wake.claim(ID, "0".repeat(64))).rejects.toMatchObject({ name: "NotWake" });
});
