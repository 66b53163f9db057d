import { beforeEach, expect, test, vi } from "vitest";
import { Approvals, NotRun, type ToolCall } from "../src/adapters/index.js";
import { MemoryStore, Wake } from "../src/index.js";
import { Inbox } from "./inbox.js";

const CALL: ToolCall = {
  ...{ framework: "AI SDK", thread: "t", callId: "c", tool: "refund" },
  arguments: { order: "A-1042", cents: 18000 },
};
let inbox: Inbox;
let store: MemoryStore;

/** Returns what a process of its own would have: all it knows is in the store. */
function approvals(): Approvals {
  return new Approvals(inbox.wake, store);
}

beforeEach(() => {
  inbox = new Inbox();
  store = new MemoryStore();
});

async function approved(answer: object = {}): Promise<void> {
  await approvals().askAbout(CALL);
  inbox.respond({ ...answer });
  await approvals().answered();
}

test("people are asked once about a call", async () => {
  inbox.away.add("deliver");
  await expect(approvals().askAbout(CALL)).rejects.toThrow("away");
  inbox.away.clear();

  await approvals().askAbout(CALL);
  await Promise.all([approvals().askAbout(CALL), approvals().askAbout(CALL)]);

  expect(inbox.deliveries.size).toBe(1);
});

test("an approved call runs once, also for many processes", async () => {
  await approved();
  inbox.together = 5;
  const tool = vi.fn(async () => "done");

  const all = await Promise.allSettled(
    Array.from({ length: 5 }, () => approvals().run(CALL, tool)),
  );

  expect(tool).toHaveBeenCalledTimes(1);
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  await expect(approvals().run(CALL, tool)).rejects.toThrow("made before");
  expect([...inbox.deliveries.values()][0]?.outcomes).toEqual([{ status: "done" }]);
});

test.each([
  [{ status: "rejected", feedback: "Too much." }, "Too much."],
  [{ status: "pending" }, "No person has answered yet"],
  [{ digest: "0".repeat(64) }, "other content"],
])("nothing runs without an approval (%j)", async (answer, reason) => {
  await approved(answer);
  const tool = vi.fn();

  const run = approvals().run(CALL, tool);

  await expect(run).rejects.toThrow(NotRun);
  await expect(run).rejects.toThrow(reason);
  expect(tool).not.toHaveBeenCalled();
});

test("nothing runs that people were not asked about", async () => {
  await approved();
  const tool = vi.fn();

  for (const [change, reason] of [
    [{ arguments: { ...CALL.arguments, cents: 1 } }, "other arguments"],
    [{ tool: "charge" }, "other arguments"],
    [{ thread: "another" }, "No person was asked"],
    [{ callId: "another" }, "No person was asked"],
  ] as const) {
    await expect(approvals().run({ ...CALL, ...change }, tool)).rejects.toThrow(reason);
  }
  expect(tool).not.toHaveBeenCalled();
});

test("an edit allows the new arguments, and not the old ones", async () => {
  const edited = { order: "A-1042", cents: 9000 };
  await approved({ status: "redirected", edited_content: edited });
  const tool = vi.fn(() => "done");

  await expect(approvals().run(CALL, tool)).rejects.toThrow('"cents":9000');
  await approvals().run({ ...CALL, arguments: edited }, tool);

  expect(tool).toHaveBeenCalledTimes(1);
});

test("a process that died in the tool leaves a call that never runs again", async () => {
  await approved();
  approvals().run(CALL, () => new Promise<never>(() => {}));
  const tool = vi.fn();

  await vi.waitFor(async () => expect(await store.names("started")).toHaveLength(1));

  await expect(approvals().run(CALL, tool)).rejects.toThrow("may have run already");
  expect(tool).not.toHaveBeenCalled();
});

test("a claim whose answer was lost is repeated", async () => {
  await approved();
  inbox.away.add("claim");
  const tool = vi.fn(() => "done");
  await expect(approvals().run(CALL, tool)).rejects.toThrow("away");
  inbox.away.clear();

  expect(await approvals().run(CALL, tool)).toBe("done");
});

test("an approval that someone else used runs nothing", async () => {
  await approved();
  const [delivery] = inbox.deliveries.values();
  if (delivery) delivery.claimed = "someone else";
  const tool = vi.fn();

  for (const _ of [1, 2]) {
    await expect(approvals().run(CALL, tool)).rejects.toThrow("used before");
  }
  expect(tool).not.toHaveBeenCalled();
});

test("a report that could not be sent is sent by the next sweep", async () => {
  await approved();
  inbox.away.add("outcome");
  const failing = approvals().run(CALL, () => {
    throw new Error("The bank\nrefused.");
  });
  await expect(failing).rejects.toThrow("refused");
  inbox.away.clear();

  await approvals().answered();
  await approvals().answered();

  const [delivery] = inbox.deliveries.values();
  expect(delivery?.outcomes).toEqual([{ status: "failed", summary: "Error: The bank refused." }]);
});

test("a report whose response was lost is repeated, and people see it once", async () => {
  await approved();
  inbox.lost.add("outcome");
  await approvals().run(CALL, () => "done");
  inbox.lost.clear();

  await approvals().answered();

  expect([...inbox.deliveries.values()][0]?.outcomes).toEqual([{ status: "done" }]);
  expect(await store.names("unreported")).toEqual([]);
});

test("a report that the server refuses is not repeated", async () => {
  await approved();
  await approvals().run(CALL, () => inbox.deliveries.clear());

  expect(await store.names("unreported")).toEqual([]);
});

test("a withdrawn question is asked again", async () => {
  await approvals().askAbout(CALL);
  const [first] = inbox.deliveries.keys();
  await inbox.wake.withdraw(String(first));
  expect(await approvals().verdict(CALL)).toMatchObject({ decision: "deny", withdrawn: true });

  await approvals().askAbout(CALL);
  inbox.respond();

  expect(inbox.deliveries.size).toBe(2);
  expect(await approvals().verdict(CALL)).toMatchObject({ decision: "allow" });
  const [run] = await approvals().answered();
  expect(run?.verdicts.get("c")).toMatchObject({ decision: "allow" });
});

test("other arguments of the same call withdraw the question about the old ones", async () => {
  await approvals().askAbout(CALL);
  await approvals().askAbout({ ...CALL, arguments: { cents: 1 } });

  const [first, second] = inbox.deliveries.values();
  expect(first?.answer).toHaveProperty("withdrawn_at");
  expect(second?.answer).not.toHaveProperty("withdrawn_at");
  inbox.respond();
  expect(await approvals().answered()).toHaveLength(1);
});

test("arguments that change and change back are asked about again", async () => {
  await approvals().askAbout(CALL);
  await approvals().askAbout({ ...CALL, arguments: { cents: 1 } });
  await approvals().askAbout(CALL);
  inbox.respond();

  const [run] = await approvals().answered();

  expect(inbox.deliveries.size).toBe(3);
  expect(run?.verdicts.get("c")).toMatchObject({ decision: "allow" });
  expect(await approvals().run(CALL, () => "done")).toBe("done");
});

test("a later rejection of an edit's arguments counts", async () => {
  const edited = { ...CALL, arguments: { order: "A-1042", cents: 9000 } };
  await approved({ status: "redirected", edited_content: edited.arguments });
  await approvals().askAbout(edited);
  inbox.respond({ status: "rejected", feedback: "No more." });
  await approvals().answered();
  const tool = vi.fn();

  await expect(approvals().run(edited, tool)).rejects.toThrow("No more.");

  expect(tool).not.toHaveBeenCalled();
});

test("a question that is asked again while its run goes on is not lost", async () => {
  await approvals().askAbout(CALL);
  await inbox.wake.withdraw(String([...inbox.deliveries.keys()][0]));

  await approvals().resumeAnswered("AI SDK", () => approvals().askAbout(CALL));
  inbox.respond();

  expect(await approvals().answered()).toHaveLength(1);
});

test("a run goes on when all its calls are answered, once", async () => {
  const other = { ...CALL, callId: "d" };
  await approvals().save("AI SDK", "t", "the state");
  await approvals().askAbout(CALL);
  inbox.respond();
  await approvals().askAbout(other);
  const resumed: (string | null)[] = [];
  const sweep = (): Promise<unknown> =>
    approvals().resumeAnswered("AI SDK", async ({ state }) => resumed.push(state));

  await sweep();
  expect(resumed).toEqual([]);
  inbox.respond();
  await sweep();
  await sweep();

  expect(resumed).toEqual(["the state"]);
});

test("a run that could not go on is left to the next sweep", async () => {
  await approved();
  const failing = approvals().resumeAnswered("AI SDK", async () => {
    throw new Error("The model is away.");
  });
  await expect(failing).rejects.toThrow(AggregateError);

  expect(await approvals().answered("AI SDK")).toHaveLength(1);
  expect(await approvals().answered("another")).toHaveLength(0);
});

test("a call that no one could read whole is denied, and no one is asked", async () => {
  const long = { ...CALL, arguments: { text: "x".repeat(20_001) } };

  await approvals().askAbout(long);

  expect(inbox.deliveries.size).toBe(0);
  expect(await approvals().verdict(long)).toMatchObject({ decision: "deny" });
});

test.each([new Map([["a", 1]]), new Date(0), Number.NaN, 1n, () => 1])(
  "arguments that are not JSON are an error (%#)",
  async (value) => {
    const call = { ...CALL, arguments: { value } };

    await expect(approvals().askAbout(call)).rejects.toThrow("not JSON");
    expect(inbox.deliveries.size).toBe(0);
  },
);

test("no time-out can be declared an approval", () => {
  const make = (options: object): Approvals =>
    new Approvals(inbox.wake, store, { tools: { refund: options } });

  expect(() => make({ onTimeout: "approve" })).toThrow("No time-out approves");
  expect(() => make({ onTimeout: "reject" })).toThrow("timeoutSeconds");
});

test("a tool that has the name of a member of every object gets the common options", async () => {
  const options = { quorum: 2, irreversible: true };

  await new Approvals(inbox.wake, store, { options }).askAbout({ ...CALL, tool: "constructor" });

  expect([...inbox.deliveries.values()][0]?.body).toMatchObject(options);
});

test("the store of another agent is refused, because its answers would be passed over", async () => {
  await approvals().askAbout(CALL);
  const wake = new Wake({
    endpoint: "https://wake.example.com",
    key: "wk_live_b",
    agentId: "other",
  });
  const others = new Approvals(wake, store);

  await expect(others.answered()).rejects.toThrow("the agent painter");
  await expect(others.askAbout(CALL)).rejects.toThrow("the agent painter");
});
