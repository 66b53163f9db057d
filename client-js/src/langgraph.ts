/**
 * Lets people answer the interrupts of LangGraph and LangChain for JavaScript
 * (docs/adapters/langgraph-js.md).
 */

import type { AnsweredRun, Approvals } from "./adapters/approvals.js";
import type { Arguments, ToolCall } from "./adapters/calls.js";
import { NotRun, type Verdict } from "./adapters/verdicts.js";
import { canonicalJson } from "./digest.js";
import type { CallOptions } from "./wake.js";

const FRAMEWORK = "LangGraph";

/** The part of a compiled graph, or of an agent of createAgent(), that an adapter uses. */
export interface Graph {
  // biome-ignore lint/suspicious/noExplicitAny: the types of each graph's configuration differ
  getState(config: any): Promise<unknown>;
}

/** The parts of a tool's or a node's configuration that an adapter uses. */
interface Config {
  configurable?: Record<string, unknown> | undefined;
  toolCall?: { id?: string | undefined; args?: unknown } | undefined;
}

/** The decision that a node gets from interrupt(). `callId` is the id of the interrupt. */
export type Decision = Verdict & { callId: string };

interface Interrupt {
  id?: string;
  value?: {
    actionRequests?: { name: string; args: Arguments }[];
    wake?: { tool: string; arguments: Arguments };
  };
}

interface Snapshot {
  next: readonly string[];
  tasks: readonly { interrupts: readonly Interrupt[] }[];
  values: { messages?: { tool_calls?: { id?: string; name: string; args: Arguments }[] }[] };
}

interface Paused {
  interrupt: Interrupt;
  calls: ToolCall[];
}

/**
 * Returns the function of a tool that runs only with an approval, and once for each approval. Pass
 * it to `tool()`, and name the tool in `interruptOn` of `humanInTheLoopMiddleware`. The model reads
 * the reason why a tool must not run as its result.
 */
export function guard<Input, Output>(
  approvals: Approvals,
  name: string,
  run: (input: Input, config: Config) => Output | Promise<Output>,
): (input: Input, config: Config) => Promise<Output | string> {
  return async (input, config) => {
    const { id, args } = config.toolCall ?? {};
    if (id === undefined) throw new TypeError(`${name} has to be called by an agent.`);
    const call = callOf(threadOf(config), id, name, args as Arguments);
    return orReason(approvals.run(call, () => run(input, config)));
  };
}

/** Returns the value that a node of your own passes to `interrupt()`, to ask people about a call. */
export function question(tool: string, args: Arguments): { wake: object } {
  return { wake: { tool, arguments: args } };
}

/**
 * Makes the call that a node of your own has asked about, if people approved it. `decision` is what
 * `interrupt()` returned, and `args` are the arguments that the node asked about. A person may have
 * changed them. Returns the result, or the reason why the call was not made.
 */
export async function perform<Output>(
  approvals: Approvals,
  config: Config,
  decision: Decision,
  tool: string,
  args: Arguments,
  run: (args: Arguments) => Output | Promise<Output>,
): Promise<Output | string> {
  if (decision.decision === "deny") return decision.words;
  const allowed = decision.decision === "edit" ? decision.arguments : args;
  const call = callOf(threadOf(config), decision.callId, tool, allowed);
  return orReason(approvals.run(call, () => run(allowed)));
}

/** Asks people about each call for which the thread is interrupted. Returns the calls. If there are
 * none, the thread is not paused. */
export async function park(
  approvals: Approvals,
  graph: Graph,
  thread: string,
  options: CallOptions = {},
): Promise<ToolCall[]> {
  const calls = pauses(thread, await stateOf(graph, thread)).flatMap((paused) => paused.calls);
  for (const call of calls) await approvals.askAbout(call, options);
  return calls;
}

/**
 * Calls `resume` for each thread whose calls are all answered. Pass `new Command({ resume: answers })`
 * to `invoke` or `stream`, or null if `answers` is null: the thread was resumed before, and its
 * process died. Then park() the thread again. Start it regularly.
 */
export async function resumeAnswered(
  approvals: Approvals,
  graph: Graph,
  resume: (thread: string, answers: Record<string, unknown> | null) => Promise<unknown>,
  options: CallOptions = {},
): Promise<AnsweredRun[]> {
  const proceed = async (run: AnsweredRun): Promise<void> => {
    const state = await stateOf(graph, run.thread);
    if (state.next.length > 0) await resume(run.thread, answersOf(run, state));
  };
  return approvals.resumeAnswered(FRAMEWORK, proceed, options);
}

/** Returns the value of each interrupt by its id, or null if the thread is not interrupted. */
function answersOf(run: AnsweredRun, state: Snapshot): Record<string, unknown> | null {
  const paused = pauses(run.thread, state);
  if (paused.length === 0) return null;
  return Object.fromEntries(
    paused.map(({ interrupt, calls }) => {
      const verdicts = calls.map((call) => ({ call, verdict: verdictOn(run, call) }));
      const [first] = verdicts;
      const value = interrupt.value?.actionRequests
        ? { decisions: verdicts.map(({ call, verdict }) => decisionOf(call, verdict)) }
        : { ...first?.verdict, callId: first?.call.callId };
      return [interrupt.id, value];
    }),
  );
}

/** Returns the decision in the form of humanInTheLoopMiddleware. */
function decisionOf(call: ToolCall, verdict: Verdict): object {
  if (verdict.decision === "allow") return { type: "approve" };
  if (verdict.decision === "deny") return { type: "reject", message: verdict.words };
  return { type: "edit", editedAction: { name: call.tool, args: verdict.arguments } };
}

function verdictOn(run: AnsweredRun, call: ToolCall): Verdict {
  const verdict = run.verdicts.get(call.callId);
  if (!verdict) throw new Error(`${call.tool} of ${run.thread} has no answer. Call park() again.`);
  return verdict;
}

/** Returns the interrupts that ask about calls, each with its calls in its own order. */
function pauses(thread: string, { tasks, values }: Snapshot): Paused[] {
  const interrupts = tasks.flatMap((task) => task.interrupts);
  const open = [
    ...(values.messages?.findLast((each) => each.tool_calls?.length)?.tool_calls ?? []),
  ];
  return interrupts.flatMap((interrupt) => {
    const { actionRequests, wake } = interrupt.value ?? {};
    if (wake) {
      const call = callOf(thread, String(interrupt.id), wake.tool, wake.arguments);
      return [{ interrupt, calls: [call] }];
    }
    if (!actionRequests) return []; // an interrupt that is for someone else
    const calls = actionRequests.map(({ name, args }) => {
      // The middleware does not say the id of the call, but asks in the order of the message.
      const place = open.findIndex((each) => each.name === name && isSame(each.args, args));
      const [found] = place < 0 ? [] : open.splice(place, 1);
      if (found?.id === undefined) throw new TypeError(`The call of ${name} has no id.`);
      return callOf(thread, found.id, name, args);
    });
    return [{ interrupt, calls }];
  });
}

function isSame(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

async function stateOf(graph: Graph, thread: string): Promise<Snapshot> {
  return (await graph.getState({ configurable: { thread_id: thread } })) as Snapshot;
}

function threadOf(config: Config): string {
  const thread = config.configurable?.["thread_id"];
  if (typeof thread !== "string") throw new TypeError("The run needs a thread_id.");
  return thread;
}

function callOf(thread: string, callId: string, tool: string, args: Arguments): ToolCall {
  return { framework: FRAMEWORK, thread, callId, tool, arguments: args };
}

async function orReason<Output>(result: Promise<Output>): Promise<Output | string> {
  return result.catch((error: unknown) => {
    if (error instanceof NotRun) return error.message;
    throw error;
  });
}
