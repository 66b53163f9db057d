/** Stores the access of each agent in the file of `wake login`, which only its owner can read. */

import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Access } from "./device-flow.js";
import { apiAddress } from "./endpoint.js";

export type Variables = Readonly<Record<string, string | undefined>>;

interface Entry {
  endpoint: string;
  key?: string;
  /** "keyring" if the Python package keeps the key in the keyring of the system. */
  key_in?: string;
}

interface Logins {
  default: string;
  agents: Record<string, Entry>;
}

/**
 * Returns the access of a program: from WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID, and for what
 * they leave out, from the agent that signed in last or has the given id. A stored key is used only
 * for the server that it was stored for. Throws an Error that says what is missing.
 */
export async function storedAccess(
  agentId?: string,
  variables: Variables = process.env,
): Promise<Access> {
  const logins = await readLogins(variables);
  const id = agentId || variables["WAKE_AGENT_ID"] || logins.default;
  const stored = Object.hasOwn(logins.agents, id) ? logins.agents[id] : undefined;
  const endpoint = variables["WAKE_ENDPOINT"] || stored?.endpoint;
  if (!endpoint) throw new Error("There is no login: run `npx wake-client login URL`.");
  const key = variables["WAKE_API_KEY"] || keyFor(endpoint, stored);
  if (!key) throw new Error(missing(id, endpoint, stored));
  return { endpoint, key, agentId: id };
}

/** Returns the path of the file. */
export function pathOfLogins(variables: Variables): string {
  const folder = variables["XDG_CONFIG_HOME"] || join(variables["HOME"] || homedir(), ".config");
  return join(folder, "wake", "agents.json");
}

/** Returns what was stored. Throws an Error for a damaged file. */
export async function readLogins(variables: Variables): Promise<Logins> {
  const path = pathOfLogins(variables);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { default: "", agents: {} };
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  try {
    return checked(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path} is damaged. Remove it and sign in again.`, { cause });
  }
}

/** Stores the access, and makes its agent the default. Returns the path of the file. */
export async function storeLogin(access: Access, variables: Variables): Promise<string> {
  const logins = await readLogins(variables);
  const entry = { endpoint: access.endpoint, key: access.key };
  // Not an assignment, because an agent may be called __proto__.
  const agents = Object.fromEntries([...Object.entries(logins.agents), [access.agentId, entry]]);
  const path = pathOfLogins(variables);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeWhole(path, `${JSON.stringify({ default: access.agentId, agents }, null, 2)}\n`);
  } catch (error) {
    throw new Error(`${path} cannot be written: ${messageOf(error)}`, { cause: error });
  }
  return path;
}

function checked(value: Partial<Logins>): Logins {
  const agents = value.agents;
  if (typeof agents !== "object" || agents === null || Array.isArray(agents)) throw new TypeError();
  for (const entry of Object.values(agents)) {
    const hasKey = typeof entry.key === "string" || entry.key_in === "keyring";
    if (typeof entry.endpoint !== "string" || !hasKey) throw new TypeError();
  }
  return { default: String(value.default ?? ""), agents };
}

function keyFor(endpoint: string, stored: Entry | undefined): string | undefined {
  const isSame = stored && apiAddress(stored.endpoint) === apiAddress(endpoint);
  return isSame ? stored.key : undefined;
}

function missing(id: string, endpoint: string, stored: Entry | undefined): string {
  const command = `run \`npx wake-client login ${endpoint}\``;
  if (stored?.key_in === "keyring") {
    return `The key of ${id} is in the keyring, which only the Python package reads: ${command}.`;
  }
  return `There is no key for ${endpoint}: ${command}, or set WAKE_API_KEY.`;
}

/** Replaces a file in one step, so that no reader sees half of it. A link stays a link. */
async function writeWhole(path: string, text: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const partial = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  const file = await open(partial, "wx", 0o600);
  try {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === code;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
