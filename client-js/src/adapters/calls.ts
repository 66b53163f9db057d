import { sha256 } from "../digest.js";

/** The arguments of a tool: a JSON object. */
export type Arguments = Record<string, unknown>;

/**
 * Describes a call that a framework has paused. `thread` is the id of the run in the framework's own
 * store, and `callId` the framework's id of this call in the thread.
 */
export interface ToolCall {
  framework: string;
  thread: string;
  callId: string;
  tool: string;
  arguments: Arguments;
}

/** Returns the SHA-256 of a tool and its arguments. Throws a TypeError if the arguments are not JSON. */
export async function digestOf(tool: string, args: Arguments): Promise<string> {
  checkJson(args, tool);
  return sha256([tool, args]);
}

/**
 * Throws a TypeError for a value that JSON text would not show whole, such as a Map or NaN. People
 * would decide about something else than the tool gets.
 */
function checkJson(value: unknown, tool: string): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (Array.isArray(value)) {
    for (const each of value) checkJson(each, tool);
    return;
  }
  const prototype = typeof value === "object" ? Object.getPrototypeOf(value) : undefined;
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`The arguments of ${tool} are not JSON, so people could not read them.`);
  }
  for (const each of Object.values(value as object)) {
    if (each !== undefined) checkJson(each, tool);
  }
}
