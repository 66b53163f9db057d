/** Lets people answer the tool approvals of the OpenAI Agents SDK (docs/adapters/openai-agents-js.md). */

import type { AnsweredRun, Approvals } from "./adapters/approvals.js";
import type { Arguments, ToolCall } from "./adapters/calls.js";
import { NotRun, withoutEdit } from "./adapters/verdicts.js";
import type { CallOptions } from "./wake.js";

const FRAMEWORK = "OpenAI Agents";

/** The parts of the options of `tool()` that an adapter uses. */
interface ToolOptions {
  name?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the types of each tool's input and output differ
  execute: (input: any, context?: any, details?: any) => any;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  needsApproval?: boolean | ((context: any, input: any, callId?: string) => Promise<boolean>);
}

/** A call that the SDK has paused: a RunToolApprovalItem. */
export interface ApprovalItem {
  readonly name?: string | undefined;
  readonly arguments?: string | undefined;
  readonly rawItem: object;
}

/** The part of a RunState that an adapter uses. */
export interface State {
  getInterruptions(): ApprovalItem[];
  approve(item: ApprovalItem): void;
  reject(item: ApprovalItem, options: { message: string }): void;
  toString(): string;
}

/**
 * Returns the options of a tool that runs only with an approval, and once for each approval. Pass
 * them to `tool()`. Every call needs an approval. `threadOf` returns your id of the conversation
 * from the context of the run. The model reads the reason why a tool must not run as its result.
 */
export function guard<Options extends ToolOptions & { name: string }>(
  approvals: Approvals,
  // biome-ignore lint/suspicious/noExplicitAny: the type of the context is the program's own
  threadOf: (context: any) => string,
  options: Options,
): Options & { needsApproval: true } {
  const execute: ToolOptions["execute"] = async (input, context, details) => {
    const { callId, arguments: text } = details?.toolCall ?? {};
    if (callId === undefined) throw new TypeError(`${options.name} has to be called by an agent.`);
    const thread = threadOf(context?.context);
    const call = callOf(thread, callId, options.name, JSON.parse(text));
    try {
      return await approvals.run(call, () => options.execute(input, context, details));
    } catch (error) {
      if (error instanceof NotRun) return error.message;
      throw error;
    }
  };
  return { ...options, execute, needsApproval: true };
}

/** Stores the state of a paused run, and asks people about each interruption. Returns the calls. If
 * there are none, the run is not paused. */
export async function park(
  approvals: Approvals,
  thread: string,
  state: State,
  options: CallOptions = {},
): Promise<ToolCall[]> {
  const calls = state.getInterruptions().map((item) => callOfItem(thread, item));
  if (calls.length === 0) return [];
  await approvals.save(FRAMEWORK, thread, state.toString());
  for (const call of calls) await approvals.askAbout(call, options);
  return calls;
}

/**
 * Calls `resume` for each thread whose interruptions are all answered. `read` is
 * `(text) => RunState.fromString(agent, text)`. Pass the state to `run(agent, state)`, and park() the
 * state of the result again. Start it regularly.
 */
export async function resumeAnswered(
  approvals: Approvals,
  read: (text: string, thread: string) => Promise<State>,
  // biome-ignore lint/suspicious/noExplicitAny: TypeScript cannot infer the type of the state
  resume: (thread: string, state: any) => Promise<unknown>,
  options: CallOptions = {},
): Promise<AnsweredRun[]> {
  const proceed = async (run: AnsweredRun): Promise<void> => {
    if (run.state === null) throw new Error(`The state of ${run.thread} is not stored.`);
    const state = await read(run.state, run.thread);
    for (const item of state.getInterruptions()) answer(run, state, item);
    await resume(run.thread, state);
  };
  return approvals.resumeAnswered(FRAMEWORK, proceed, options);
}

function answer(run: AnsweredRun, state: State, item: ApprovalItem): void {
  const { callId, tool } = callOfItem(run.thread, item);
  const verdict = run.verdicts.get(callId);
  if (!verdict) throw new Error(`${tool} of ${run.thread} has no answer. Call park() again.`);
  const { decision, words } = withoutEdit(verdict);
  if (decision === "allow") state.approve(item);
  else state.reject(item, { message: words });
}

function callOfItem(thread: string, item: ApprovalItem): ToolCall {
  const { callId } = item.rawItem as { callId?: unknown };
  if (typeof callId !== "string" || item.name === undefined || item.arguments === undefined) {
    throw new TypeError("Only calls of function tools can be answered.");
  }
  return callOf(thread, callId, item.name, JSON.parse(item.arguments));
}

function callOf(thread: string, callId: string, tool: string, args: Arguments): ToolCall {
  return { framework: FRAMEWORK, thread, callId, tool, arguments: args };
}
