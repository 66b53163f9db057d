import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, readlink, stat, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Book } from "../src/index.js";
import { FileStore, fileBook } from "../src/node.js";
import { APPROVED, PENDING, RECEIPT, reply, scripted } from "./scripted.js";

const QUESTION = { headline: "Deploy 42?", summary: "All tests pass." };
let folder: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "wake-")), "book");
});

/** Is a store of a process that is stopped after it has read the first object, until goOn(). */
class SlowStore extends FileStore {
  goOn = (): void => {};
  #saw = (): void => {};
  readonly hasLooked = new Promise<void>((resolve) => {
    this.#saw = resolve;
  });
  readonly #mayGoOn = new Promise<void>((resolve) => {
    this.goOn = resolve;
  });

  override async read(kind: string, name: string): ReturnType<FileStore["read"]> {
    const value = await super.read(kind, name);
    this.#saw();
    await this.#mayGoOn;
    return value;
  }
}

test("a program that died while it asked asks once, with the same key", async () => {
  const { wake: dying, sent: before } = scripted([new TypeError("reset")], { retryForSeconds: 0 });
  await expect(fileBook(dying, folder).ask("deploy", QUESTION)).rejects.toThrow("reset");

  const { wake, sent: after } = scripted([reply(RECEIPT, 201), reply(APPROVED)]);
  const answer = await fileBook(wake, folder).ask("deploy", QUESTION);

  expect(answer.status).toBe("approved");
  expect(after[0]?.headers.get("Idempotency-Key")).toBe(before[0]?.headers.get("Idempotency-Key"));
});

test("an answer is found again until it is forgotten", async () => {
  const { wake, sent } = scripted([
    ...[reply(RECEIPT, 201), reply(APPROVED), reply(APPROVED)],
    ...[reply(RECEIPT, 201), reply(APPROVED)],
  ]);
  const book = fileBook(wake, folder);

  await book.ask("deploy", QUESTION);
  await book.ask("deploy", QUESTION);
  await book.forget("deploy");
  await book.ask("deploy", QUESTION);

  expect(sent.filter(({ url }) => url.pathname.endsWith("/deliver"))).toHaveLength(2);
});

test("an answer is only for the words that people saw", async () => {
  const { wake } = scripted([reply(RECEIPT, 201), reply(APPROVED)]);
  const book = fileBook(wake, folder);
  await book.ask("deploy", QUESTION);

  await expect(book.ask("deploy", { ...QUESTION, details: "43" })).rejects.toThrow(TypeError);
});

test("the patience of a call is for its question, too", async () => {
  const { wake, clock } = scripted([new TypeError("reset")]);

  const asked = fileBook(wake, folder).ask("deploy", QUESTION, { retryForSeconds: 0 });

  await expect(asked).rejects.toThrow("reset");
  expect(clock.slept).toEqual([]);
});

test("two calls at the same time ask one question", async () => {
  const { wake, sent } = scripted([
    ...[reply(RECEIPT, 201), reply(RECEIPT, 201)],
    ...[reply(APPROVED), reply(APPROVED)],
  ]);

  await Promise.all([1, 2].map(() => fileBook(wake, folder).ask("deploy", QUESTION)));

  const keys = sent.map(({ headers }) => headers.get("Idempotency-Key")).filter(Boolean);
  expect(new Set(keys).size).toBe(1);
});

test("answers lists what has come, and waits for none", async () => {
  const { wake } = scripted([
    ...[reply(RECEIPT, 201), reply(PENDING)],
    ...[reply({ ...RECEIPT, on_timeout: "hold" }, 201), reply(PENDING)],
    ...[reply({ ...PENDING, expired: true }), reply({ ...PENDING, expired: true })],
  ]);
  const book = fileBook(wake, folder);
  await book.ask("may go on", QUESTION, { timeoutSeconds: 0 });
  await book.ask("has to wait", QUESTION, { timeoutSeconds: 0 });

  const come: string[] = [];
  for await (const [name] of book.answers()) come.push(name);

  expect(come).toEqual(["may go on"]);
});

describe("the files", () => {
  test("are for their owner only, and whole", async () => {
    const store = new FileStore(folder);
    await store.write("kind", "../name", { a: 1 });
    await writeFile(join(folder, "kind", "x.partial"), "{");

    const [file] = (await readdir(join(folder, "kind"))).filter((each) => each.endsWith(".json"));
    expect((await stat(join(folder, "kind", String(file)))).mode & 0o777).toBe(0o600);
    expect(await store.read("kind", "../name")).toEqual({ a: 1 });
    expect(await store.names("kind")).toEqual(["../name"]);
    expect(await store.names("other")).toEqual([]);
  });

  test("that are damaged are an error, and no question", async () => {
    const store = new FileStore(folder);
    await store.write("questions", "deploy", { a: 1 });
    const [file] = await readdir(join(folder, "questions"));
    await writeFile(join(folder, "questions", String(file)), "{");

    const { wake, sent } = scripted([]);
    await expect(new Book(wake, store).ask("deploy", QUESTION)).rejects.toThrow(SyntaxError);
    expect(sent).toEqual([]);
  });

  test("that cannot be listed are an error, and not no files", async () => {
    await mkdir(folder);
    await writeFile(join(folder, "kind"), "");

    await expect(new FileStore(folder).names("kind")).rejects.toThrow("ENOTDIR");
  });

  test("are created by one of many", async () => {
    const stores = Array.from({ length: 20 }, () => new FileStore(folder));

    const created = await Promise.all(
      stores.map((store, place) => store.create("kind", "name", { place })),
    );

    expect(created.filter(Boolean)).toHaveLength(1);
    const place = created.indexOf(true);
    expect(await new FileStore(folder).read("kind", "name")).toEqual({ place });
    expect(await readdir(join(folder, "kind"))).toHaveLength(1);
  });

  test("let one work alone, and do not wait for a process that died", async () => {
    const store = new FileStore(folder);
    const inside: boolean[] = [];

    const outside = await store.alone("sweep", async () => {
      inside.push(await new FileStore(folder).alone("sweep", async () => {}));
    });
    const dead = spawnSync(process.execPath, ["-e", ""]).pid;
    for (const holder of [
      { host: hostname(), pid: dead, id: "a" },
      { host: hostname(), pid: process.pid, id: "of an earlier process" },
    ]) {
      await store.write("alone", "sweep", holder);
      inside.push(await store.alone("sweep", async () => {}));
    }
    await store.write("alone", "sweep", { host: hostname(), pid: process.ppid, id: "a" });
    inside.push(await store.alone("sweep", async () => {}));

    expect(outside).toBe(true);
    expect(inside).toEqual([false, true, true, false]);
    await store.remove("alone", "sweep");
  });

  test("of another machine are waited for while it gives signs of life", async () => {
    const store = new FileStore(folder);
    await store.write("alone", "sweep", { host: "another", pid: 1, id: "a" });
    const [file] = await readdir(join(folder, "alone"));
    const path = join(folder, "alone", String(file));

    expect(await store.alone("sweep", async () => {})).toBe(false);
    await utimes(path, new Date(), new Date(Date.now() - 61_000));
    expect(await store.alone("sweep", async () => {})).toBe(true);
  });

  test("let one of many take the place of a process that died", async () => {
    const dead = { host: hostname(), pid: process.pid, id: "of an earlier process" };
    await new FileStore(folder).write("alone", "sweep", dead);
    const later = new SlowStore(folder);
    const second = vi.fn(async () => {});
    const looking = later.alone("sweep", second);
    await later.hasLooked;

    const first = await new FileStore(folder).alone("sweep", async () => {
      later.goOn();
      expect(await looking).toBe(false);
    });

    expect(first).toBe(true);
    expect(second).not.toHaveBeenCalled();
    expect(await readdir(join(folder, "alone"))).toEqual([]);
  });

  test("let a process work that finds the place of a dead heir", async () => {
    const store = new FileStore(folder);
    const dead = { host: hostname(), pid: process.pid, id: "dead" };
    await store.write("alone", "sweep", dead);
    await store.write("heirs", "dead", { ...dead, id: "dead, too" });

    expect(await store.alone("sweep", async () => {})).toBe(false);
    expect(await store.alone("sweep", async () => {})).toBe(true);
  });

  // A tool runs after its file is created. A file that is lost with the power would let it run again.
  test.runIf(process.platform === "linux")("outlast a loss of power with their names", async () => {
    const store = new FileStore(folder);
    await store.create("started", "first", {});
    const handle = await open(folder);
    const synced = vi.spyOn(Object.getPrototypeOf(handle), "sync");
    await handle.close();
    const ofTheName = async (step: () => Promise<unknown>): Promise<string[]> => {
      const names: string[] = [];
      synced.mockImplementation(async function (this: unknown) {
        names.push(await readlink(`/proc/self/fd/${(this as { fd: number }).fd}`));
      });
      await step();
      return names.slice(1);
    };

    const kind = join(folder, "started");
    expect(await ofTheName(() => store.create("started", "name", {}))).toEqual([kind]);
    expect(await ofTheName(() => store.write("started", "name", {}))).toEqual([kind]);
    synced.mockRestore();
  });
});
