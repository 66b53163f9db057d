/** Keeps books and approvals in files, and reads the stored logins. For Node, Deno and Bun. */

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { Book } from "./book.js";
import type { Store, Stored } from "./store.js";
import type { Wake } from "./wake.js";

export type { Access } from "./device-flow.js";
export { storedAccess, type Variables } from "./logins.js";

// A process that works alone says so every few seconds.
const SIGN_OF_LIFE_MS = 5_000;
const DEAD_AFTER_MS = 60_000;

/** Returns the book in a folder, in which a program records its questions. */
export function fileBook(wake: Wake, folder: string): Book {
  return new Book(wake, new FileStore(folder));
}

interface Contents {
  name: string;
  value: Stored;
}

/**
 * Keeps each object in a file of its own, which is written whole, so that a crash leaves no partial
 * file. Only the owner can read the files. Several processes may use the folder.
 */
export class FileStore implements Store {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async read(kind: string, name: string): Promise<Stored | null> {
    return (await contents(this.#path(kind, name)))?.value ?? null;
  }

  async create(kind: string, name: string, value: Stored): Promise<boolean> {
    const partial = await this.#partial(kind, name, value);
    try {
      await link(partial, this.#path(kind, name)); // fails if the file exists
    } catch (error) {
      if (isError(error, "EEXIST")) return false;
      throw error;
    } finally {
      await rm(partial);
    }
    await this.#syncNames(kind);
    return true;
  }

  async write(kind: string, name: string, value: Stored): Promise<void> {
    await rename(await this.#partial(kind, name, value), this.#path(kind, name));
    await this.#syncNames(kind);
  }

  async remove(kind: string, name: string): Promise<void> {
    await rm(this.#path(kind, name), { force: true });
  }

  async names(kind: string): Promise<string[]> {
    const folder = join(this.folder, kind);
    const files = await readdir(folder).catch((error: unknown) => {
      if (isError(error, "ENOENT")) return [];
      throw error;
    });
    const whole = files.filter((file) => file.endsWith(".json")).sort();
    const read = await Promise.all(whole.map((file) => contents(join(folder, file))));
    return read.filter((file) => file !== null).map(({ name }) => name);
  }

  /** A process that died is not waited for. */
  async alone(name: string, work: () => Promise<void>): Promise<boolean> {
    const own = { host: hostname(), pid: process.pid, id: randomUUID() };
    held.add(own.id);
    try {
      const isOurs = (await this.create("alone", name, own)) || (await this.#inherit(name, own));
      if (isOurs) await this.#work(name, own.id, work);
      return isOurs;
    } finally {
      held.delete(own.id);
    }
  }

  async #work(name: string, id: string, work: () => Promise<void>): Promise<void> {
    const path = this.#path("alone", name);
    const sign = setInterval(() => {
      utimes(path, new Date(), new Date()).catch(() => {});
    }, SIGN_OF_LIFE_MS);
    try {
      await work();
    } finally {
      clearInterval(sign);
      if ((await this.read("alone", name))?.["id"] === id) await this.remove("alone", name);
    }
  }

  /** Takes the place of a process that died, and returns whether it did. Several processes may find
   * the dead one, but only one at a time is its heir. */
  async #inherit(name: string, own: Stored): Promise<boolean> {
    const id = await this.#deadHolder("alone", name);
    if (id === null) return false;
    if (!(await this.create("heirs", id, own))) {
      if (await this.#deadHolder("heirs", id)) await this.remove("heirs", id);
      return false;
    }
    try {
      // An earlier heir may have the place already.
      const isOurs = (await this.read("alone", name))?.["id"] === id;
      if (isOurs) await this.write("alone", name, own);
      return isOurs;
    } finally {
      await this.remove("heirs", id);
    }
  }

  /** Returns the id under which a process that died holds a place, or null. */
  async #deadHolder(kind: string, name: string): Promise<string | null> {
    const holder = await this.read(kind, name);
    const file = await stat(this.#path(kind, name)).catch(() => null);
    if (!file || !holder) return null; // it has just ended
    const id = String(holder["id"]);
    return isDead(holder, id, file.mtimeMs) ? id : null;
  }

  async #partial(kind: string, name: string, value: Stored): Promise<string> {
    const path = this.#path(kind, name);
    await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
    const partial = `${path}.${randomUUID()}.partial`;
    const file = await open(partial, "wx", 0o600);
    try {
      await file.writeFile(`${JSON.stringify({ name, value }, null, 1)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    return partial;
  }

  /** Makes the names of the files of a kind durable. Windows does this by itself. */
  async #syncNames(kind: string): Promise<void> {
    if (process.platform === "win32") return;
    const folder = await open(join(this.folder, kind));
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  #path(kind: string, name: string): string {
    return join(this.folder, kind, `${createHash("sha256").update(name).digest("hex")}.json`);
  }
}

/** The ids under which this process works alone at the moment. */
const held = new Set<string>();

function isDead({ host, pid }: Stored, id: string, lastSignMs: number): boolean {
  if (host !== hostname()) return Date.now() - lastSignMs > DEAD_AFTER_MS;
  // A process of a restarted container may have the number of the one that died.
  if (pid === process.pid) return !held.has(id);
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return isError(error, "ESRCH");
  }
}

async function contents(path: string): Promise<Contents | null> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    if (isError(error, "ENOENT")) return null;
    throw error;
  }
}

function isError(error: unknown, code: string): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === code;
}
