/** The command line signs in by the browser, and a program uses what it stored. */

import { chmod, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { signIn } from "../src/device-flow.js";
import { hasScreen, main, type Terminal } from "../src/login.js";
import { storedAccess, storeLogin, type Variables } from "../src/logins.js";
import { FakeClock, reply, type Step } from "./scripted.js";

const SERVER = "https://wake.example.com";
const LINK = `${SERVER}/device/?code=BCDF-GHJK`;
const CODE = {
  device_code: "a-device-code",
  user_code: "BCDF-GHJK",
  verification_uri: `${SERVER}/device/`,
  verification_uri_complete: LINK,
  expires_in: 600,
  interval: 5,
};
const KEY = "wk_live_made_up_for_this_test";
const ISSUED = { access_token: KEY, token_type: "Bearer", agent_id: "painter", team: "harbour" };

let home: string;
let variables: Variables;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "wake-"));
  variables = { XDG_CONFIG_HOME: home };
});

interface Run {
  status: number;
  out: string;
  err: string;
  opened: string[];
  forms: Record<string, string>[];
  paths: string[];
  slept: number[];
}

async function run(steps: Step[], words: string[], more: Variables = {}): Promise<Run> {
  const clock = new FakeClock();
  const done: Run = { status: 0, out: "", err: "", opened: [], forms: [], paths: [], slept: [] };
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    done.paths.push(new URL(String(input)).pathname);
    done.forms.push(Object.fromEntries(new URLSearchParams(String(init.body))));
    const step = steps.length > 1 ? steps.shift() : steps[0];
    if (step instanceof Error) throw step;
    if (!(step instanceof Response)) throw new Error("There is no step.");
    return step.clone();
  };
  const terminal: Terminal = {
    machine: "olga-laptop",
    isWatched: true,
    print: (text) => {
      done.out += text;
    },
    say: (text) => {
      done.err += text;
    },
    open: (link) => {
      done.opened.push(link);
    },
  };
  done.status = await main(words, { ...variables, ...more }, terminal, (options) =>
    signIn({ ...options, fetch, clock }),
  );
  done.slept = clock.slept.map((ms) => ms / 1000);
  return done;
}

function refusal(error: string, status = 400, more: object = {}): Response {
  return reply({ error, ...more }, status);
}

async function stored(): Promise<unknown> {
  return JSON.parse(await readFile(join(home, "wake", "agents.json"), "utf8"));
}

test("the key of an approved sign-in is stored for its owner alone", async () => {
  const steps = [reply(CODE), refusal("authorization_pending"), reply(ISSUED)];
  const done = await run(steps, ["login", SERVER, "--agent", "painter"]);

  expect(done.status).toBe(0);
  const file = join(home, "wake", "agents.json");
  expect(await stored()).toEqual({
    default: "painter",
    agents: { painter: { endpoint: SERVER, key: KEY } },
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, "wake"))).mode & 0o777).toBe(0o700);
  expect(await readdir(join(home, "wake"))).toEqual(["agents.json"]);
  expect(done.out).toBe(`painter is logged in at ${SERVER} (${file})\n`);
  expect(done.err).toContain("BCDF-GHJK");
  expect(done.err).toContain(LINK);
  expect(done.out + done.err).not.toContain(KEY);
  expect(done.paths).toEqual(["/oauth/device", "/oauth/token", "/oauth/token"]);
  expect(done.forms[0]).toEqual({
    client_id: "wake-client",
    machine: "olga-laptop",
    agent_id: "painter",
  });
  expect(done.forms[1]).toEqual({
    client_id: "wake-client",
    device_code: "a-device-code",
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
  });
  expect(done.slept).toEqual([5, 5]);
});

test("other agents stay, and the last one is the default", async () => {
  await storeLogin({ endpoint: SERVER, key: "wk_live_b", agentId: "writer" }, variables);
  await run([reply(CODE), reply(ISSUED)], ["login", SERVER]);

  expect(await storedAccess(undefined, variables)).toEqual({
    endpoint: SERVER,
    key: KEY,
    agentId: "painter",
  });
  expect((await storedAccess("writer", variables)).key).toBe("wk_live_b");
});

test("a program reads the result as JSON", async () => {
  const done = await run([reply(CODE), reply(ISSUED)], ["login", SERVER, "--json"]);

  const file = join(home, "wake", "agents.json");
  expect(JSON.parse(done.out)).toEqual({ agent_id: "painter", endpoint: SERVER, file });
});

test("it asks less often when the server cannot keep up", async () => {
  const busy = refusal("temporarily_unavailable", 429);
  busy.headers.set("Retry-After", "45");
  const away = new TypeError("fetch failed");
  const steps = [reply(CODE), refusal("slow_down"), away, reply({}, 502), busy, reply(ISSUED)];

  expect((await run(steps, ["login", SERVER])).slept).toEqual([5, 10, 20, 40, 60]);
});

test.each([
  [refusal("access_denied"), "A person refused the sign-in in the browser. (access_denied)"],
  [refusal("access_denied", 400, { error_description: "You left." }), "You left. (access_denied)"],
  [refusal("expired_token"), "The code has expired."],
  [refusal("invalid_grant"), "The code does not work any more."],
  [refusal("authorization_pending"), "The code has expired."],
  [reply({}, 404), "answered 404"],
  [reply({}), "did not answer with a key"],
  [reply({ ...ISSUED, access_token: "with space" }), "did not answer with a key"],
])("an end without a key is explained: %#", async (step, words) => {
  const done = await run([reply(CODE), step], ["login", SERVER]);

  expect(done.status).toBe(1);
  expect(done.err).toContain(words);
  await expect(stored()).rejects.toThrow("ENOENT");
});

test.each([
  [reply({}, 404), "This server has no sign-in for terminals."],
  [refusal("temporarily_unavailable", 429, { error_description: "Try later." }), "Try later."],
  [reply({ user_code: "B" }), "did not answer with a code"],
  [new Response("no"), "did not answer with a code"],
  [new TypeError("fetch failed"), "could not be reached"],
  [reply({ ...CODE, verification_uri: "https://b.example/device/" }), "another address"],
  [reply({ ...CODE, verification_uri_complete: "javascript:1" }), "another address"],
  [reply({ ...CODE, verification_uri: "http://wake.example.com/device/" }), "another address"],
])("a server without a code of its own is explained: %#", async (step, words) => {
  const done = await run([step, reply(ISSUED)], ["login", SERVER]);

  expect(done.status).toBe(1);
  expect(done.err).toContain(words);
  expect(done.paths).toEqual(["/oauth/device"]);
});

test.each([
  [[]],
  [["login"]],
  [["logout", SERVER]],
  [["login", SERVER, SERVER]],
  [["login", SERVER, "--bold"]],
  [["login", "http://wake.example.com"]],
  [["login", "nowhere"]],
])("wrong arguments are explained: %#", async (words) => {
  const done = await run([reply(CODE)], words);

  expect(done.status).toBe(2);
  expect(done.err).not.toBe("");
  expect(done.paths).toEqual([]);
});

test("help is printed", async () => {
  const done = await run([], ["--help"]);

  expect(done.status).toBe(0);
  expect(done.out).toContain("usage: wake-client login URL");
});

test("what the server writes acts on no terminal", async () => {
  const code = { ...CODE, user_code: "\u001b[2J\u202eBCDF" };
  const done = await run(
    [reply(code), reply({ ...ISSUED, agent_id: "a\u001b" })],
    ["login", SERVER],
  );

  expect(done.err).toContain("Your code: ⟨U+001B⟩[2J⟨U+202E⟩BCDF\n");
  expect(done.out + done.err).not.toContain("\u001b");
});

test.each([
  [["login", SERVER], { DISPLAY: ":0" }, [LINK]],
  [["login", SERVER, "--no-browser"], { DISPLAY: ":0" }, []],
  [["login", SERVER], { DISPLAY: ":0", SSH_CONNECTION: "192.0.2.1 1 192.0.2.2 22" }, []],
])("the browser gets the link with the code: %#", async (words, more, opened) => {
  expect((await run([reply(CODE), reply(ISSUED)], words, more)).opened).toEqual(opened);
});

test("a screen is known by the platform and the display", () => {
  expect(hasScreen({}, "linux")).toBe(false);
  expect(hasScreen({ WAYLAND_DISPLAY: "wayland-0" }, "linux")).toBe(true);
  expect(hasScreen({}, "darwin")).toBe(true);
  expect(hasScreen({}, "win32")).toBe(true);
});

test("a damaged file is noticed before a key is issued", async () => {
  await storeLogin({ endpoint: SERVER, key: KEY, agentId: "painter" }, variables);
  for (const text of ["{", "[]", "null", '{"agents": {"a": {}}}', '{"agents": []}']) {
    await writeFile(join(home, "wake", "agents.json"), text);
    const done = await run([reply(CODE), reply(ISSUED)], ["login", SERVER]);

    expect(done.status).toBe(1);
    expect(done.err).toContain("is damaged");
    expect(done.paths).toEqual([]);
  }
});

test("the environment goes before what is stored", async () => {
  await storeLogin({ endpoint: SERVER, key: KEY, agentId: "painter" }, variables);
  const given = { WAKE_API_KEY: "wk_live_b", WAKE_ENDPOINT: "https://b.example" };

  expect(await storedAccess("writer", { ...variables, ...given })).toEqual({
    endpoint: "https://b.example",
    key: "wk_live_b",
    agentId: "writer",
  });
});

test("a stored key goes to no other server", async () => {
  await storeLogin({ endpoint: SERVER, key: KEY, agentId: "painter" }, variables);
  const other = { ...variables, WAKE_ENDPOINT: "https://other.example.com" };

  await expect(storedAccess("painter", other)).rejects.toThrow("There is no key for https://other");
  expect(
    (await storedAccess("painter", { ...variables, WAKE_ENDPOINT: `${SERVER}/wake/v1` })).key,
  ).toBe(KEY);
});

test("what is missing is said", async () => {
  await expect(storedAccess(undefined, variables)).rejects.toThrow(
    "run `npx wake-client login URL`",
  );
  const agents = { painter: { endpoint: SERVER, key_in: "keyring" } };
  await storeLogin({ endpoint: SERVER, key: KEY, agentId: "writer" }, variables);
  await writeFile(
    join(home, "wake", "agents.json"),
    JSON.stringify({ default: "painter", agents }),
  );

  await expect(storedAccess(undefined, variables)).rejects.toThrow("is in the keyring");
});

test("an agent may have any id", async () => {
  for (const agentId of ["__proto__", "constructor", "a b"]) {
    await storeLogin({ endpoint: SERVER, key: KEY, agentId }, variables);

    expect((await storedAccess(agentId, variables)).key).toBe(KEY);
  }
  await expect(storedAccess("toString", variables)).rejects.toThrow("There is no login");
});

// Root may write everywhere.
test.skipIf(process.getuid?.() === 0)("a folder that cannot be written is named", async () => {
  await chmod(home, 0o500);

  const done = await run([reply(CODE), reply(ISSUED)], ["login", SERVER]);

  expect(done.status).toBe(1);
  expect(done.err).toContain("cannot be written");
});
