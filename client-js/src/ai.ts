/** Lets people answer the tool approvals of the AI SDK, versions 6 and 7 (docs/adapters/ai-sdk.md). */

import type { AnsweredRun, Approvals } from "./adapters/approvals.js";
import type { Arguments, ToolCall } from "./adapters/calls.js";
import { type Verdict, withoutEdit } from "./adapters/verdicts.js";
import type { CallOptions } from "./wake.js";

const FRAMEWORK = "AI SDK";

/** The parts of a tool of the AI SDK that an adapter uses. */
interface Tool {
  // biome-ignore lint/suspicious/noExplicitAny: the types of each tool's input and output differ
  execute?: ((input: any, options: any) => any) | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  needsApproval?: boolean | ((input: any, options: any) => boolean | PromiseLike<boolean>);
}

interface Part {
  type: string;
  [member: string]: unknown;
}

interface Message {
  role: string;
  content: string | readonly object[];
}

/**
 * Returns tools that run only with an approval, and once for each approval. Each tool gets
 * `needsApproval: true`, unless it has a `needsApproval` of its own. `thread` is your id of the
 * conversation. The model reads the reason why a tool must not run as the
 * error of the tool.
 */
export function guard<Tools extends Record<string, object>>(
  approvals: Approvals,
  thread: string,
  tools: Tools,
): Tools {
  const guarded = Object.entries(tools).map(([name, tool]) => [
    name,
    guardOne(approvals, thread, name, tool),
  ]);
  return Object.fromEntries(guarded);
}

/**
 * Asks people about each tool call of the messages that waits for an approval, and stores the
 * messages until the answers have come. Call it with all messages of the thread, `response.messages`
 * of the result included. Returns the calls. If there are none, the run is not paused.
 */
export async function park(
  approvals: Approvals,
  thread: string,
  messages: readonly Message[],
  options: CallOptions = {},
): Promise<ToolCall[]> {
  const calls = pausedCalls(thread, messages);
  if (calls.length === 0) return [];
  await approvals.save(FRAMEWORK, thread, toText(messages));
  for (const { call } of calls) await approvals.askAbout(call, options);
  return calls.map(({ call }) => call);
}

/**
 * Calls `resume` for each thread whose calls are all answered, with its messages. The last message
 * has a `tool-approval-response` for each call. Pass the messages to `generateText` or `streamText`
 * with the guarded tools, and park() the result again. Start it regularly.
 */
export async function resumeAnswered<Model extends Message>(
  approvals: Approvals,
  resume: (thread: string, messages: Model[]) => Promise<unknown>,
  options: CallOptions = {},
): Promise<AnsweredRun[]> {
  const proceed = (run: AnsweredRun): Promise<unknown> => resume(run.thread, answeredMessages(run));
  return approvals.resumeAnswered(FRAMEWORK, proceed, options);
}

/** Returns the stored messages of a run, with the response to each approval request. */
export function answeredMessages<Model extends Message>(run: AnsweredRun): Model[] {
  if (run.state === null) throw new Error(`The messages of ${run.thread} are not stored.`);
  const messages: Model[] = fromText(run.state);
  const responses = pausedCalls(run.thread, messages).map(({ call, approvalId }) =>
    responseTo(approvalId, run.verdicts.get(call.callId)),
  );
  // The AI SDK reads the responses of the last message only.
  const last = messages.at(-1);
  const isOfTools = last?.role === "tool";
  const content = isOfTools ? [...last.content, ...responses] : responses;
  const before = isOfTools ? messages.slice(0, -1) : messages;
  return [...before, { ...(isOfTools ? last : {}), role: "tool", content } as unknown as Model];
}

function responseTo(approvalId: string, verdict: Verdict | undefined): Part {
  if (!verdict) throw new Error(`The approval ${approvalId} has no answer.`);
  const { decision, words } = withoutEdit(verdict);
  const reason = words ? { reason: words } : {};
  return {
    type: "tool-approval-response",
    approvalId,
    approved: decision === "allow",
    ...reason,
  };
}

function guardOne(approvals: Approvals, thread: string, name: string, tool: Tool): Tool {
  const { execute, needsApproval = true } = tool;
  if (!execute) return tool; // it runs somewhere else, such as in the browser
  const needs = async (input: unknown, options: unknown): Promise<boolean> =>
    typeof needsApproval === "function" ? needsApproval(input, options) : needsApproval;
  const guarded = async (input: Arguments, options: { toolCallId: string }): Promise<unknown> => {
    if (!(await needs(input, options))) return last(execute(input, options));
    const call = callOf(thread, options.toolCallId, name, input);
    return approvals.run(call, () => last(execute(input, options)));
  };
  return { ...tool, needsApproval, execute: guarded };
}

function callOf(thread: string, callId: string, tool: string, input: Arguments): ToolCall {
  return { framework: FRAMEWORK, thread, callId, tool, arguments: input };
}

/** Returns the last value of a tool that yields preliminary ones. */
async function last(output: unknown): Promise<unknown> {
  const awaited = await output;
  if (!isAsyncIterable(awaited)) return awaited;
  let value: unknown;
  for await (value of awaited);
  return value;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Returns the calls whose approval requests have no response, in the order of the messages. */
function pausedCalls(
  thread: string,
  messages: readonly Message[],
): { call: ToolCall; approvalId: string }[] {
  const parts = messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content,
  ) as Part[];
  const calls = new Map(ofType(parts, "tool-call").map((part) => [part["toolCallId"], part]));
  const settled = new Set([
    ...ofType(parts, "tool-approval-response").map((part) => part["approvalId"]),
    ...ofType(parts, "tool-result").map((part) => part["toolCallId"]),
  ]);
  return ofType(parts, "tool-approval-request")
    .filter((part) => !settled.has(part["approvalId"]) && !settled.has(part["toolCallId"]))
    .map(({ approvalId, toolCallId }) => {
      const { toolName, input, providerExecuted }: Partial<Record<string, unknown>> =
        calls.get(toolCallId) ?? {};
      if (typeof toolName !== "string") throw new TypeError(`There is no tool call ${toolCallId}.`);
      if (providerExecuted) {
        throw new TypeError(
          `${toolName} runs at the model's provider, where its approval cannot be used once.`,
        );
      }
      const call = callOf(thread, String(toolCallId), toolName, input as Arguments);
      return { call, approvalId: String(approvalId) };
    });
}

function ofType(parts: Part[], type: string): Part[] {
  return parts.filter((part) => part.type === type);
}

/** Messages with files have bytes, which are not JSON. Names that begin with $ get another $, so that
 * no argument of a tool becomes bytes. */
function toText(messages: readonly Message[]): string {
  return JSON.stringify(messages, function (this: Record<string, unknown>, name, value) {
    const original = this[name]; // a Buffer has turned into something else in `value`
    if (original instanceof Uint8Array) return { $bytes: Array.from(original) };
    return renamed(value, (each) => (each.startsWith("$") ? `$${each}` : each));
  });
}

function fromText<Model>(text: string): Model[] {
  return JSON.parse(text, (_, value) => {
    if (Array.isArray(value?.$bytes)) return Uint8Array.from(value.$bytes);
    return renamed(value, (each) => (each.startsWith("$$") ? each.slice(1) : each));
  });
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [rename(name), each]));
}
