/** A JSON object that a store keeps. */
export type Stored = Record<string, unknown>;

/**
 * Keeps small JSON objects by kind and name. Implement it with the storage of your runtime, such as a
 * table, or use the files of `wake-client/node`.
 *
 * A write must be durable when its promise resolves, because a request is sent or a tool runs right
 * after it. `create` must be atomic: it decides which process runs a tool.
 */
export interface Store {
  read(kind: string, name: string): Promise<Stored | null>;
  /** Writes an object if there is none of this name. Returns whether it was written. */
  create(kind: string, name: string, value: Stored): Promise<boolean>;
  /** Writes an object, and replaces an earlier one of this name. */
  write(kind: string, name: string, value: Stored): Promise<void>;
  remove(kind: string, name: string): Promise<void>;
  names(kind: string): Promise<string[]>;
  /**
   * Runs `work` unless another process runs something of this name. Returns whether it ran. Without
   * this method, your program has to see to it that one process at a time resumes runs.
   */
  alone?(name: string, work: () => Promise<void>): Promise<boolean>;
}

/** Keeps objects in memory, and so forgets them when the process ends. For tests and examples. */
export class MemoryStore implements Store {
  readonly #kinds = new Map<string, Map<string, string>>();

  async read(kind: string, name: string): Promise<Stored | null> {
    return JSON.parse(this.#kind(kind).get(name) ?? "null");
  }

  async create(kind: string, name: string, value: Stored): Promise<boolean> {
    if (this.#kind(kind).has(name)) return false;
    this.#kind(kind).set(name, JSON.stringify(value));
    return true;
  }

  async write(kind: string, name: string, value: Stored): Promise<void> {
    this.#kind(kind).set(name, JSON.stringify(value));
  }

  async remove(kind: string, name: string): Promise<void> {
    this.#kind(kind).delete(name);
  }

  async names(kind: string): Promise<string[]> {
    return [...this.#kind(kind).keys()];
  }

  #kind(kind: string): Map<string, string> {
    const entries = this.#kinds.get(kind) ?? new Map<string, string>();
    this.#kinds.set(kind, entries);
    return entries;
  }
}
