/** Lets people answer the tool approvals of Mastra (docs/adapters/mastra.md). */

import type { AnsweredRun, Approvals } from "./adapters/approvals.js";
import type { Arguments, ToolCall } from "./adapters/calls.js";
import { withoutEdit } from "./adapters/verdicts.js";
import type { CallOptions } from "./wake.js";

const FRAMEWORK = "Mastra";

/** The parts of the options of `createTool()` that an adapter uses. */
interface ToolOptions {
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: the types of each tool's input and output differ
  execute?: ((input: any, context: any) => any) | undefined;
}

/** The parts of an Agent that an adapter uses. */
export interface SuspendingAgent<Result> {
  listSuspendedRuns(): Promise<{ runs: SuspendedRun[] }>;
  approveToolCallGenerate(options: { runId: string; toolCallId?: string }): Promise<Result>;
  declineToolCallGenerate(options: {
    runId: string;
    toolCallId?: string;
    reason?: string;
  }): Promise<Result>;
}

interface SuspendedRun {
  runId: string;
  toolCalls: {
    toolCallId?: string;
    toolName?: string;
    args?: unknown;
    requiresApproval: boolean;
  }[];
}

/**
 * Returns the options of a tool that runs only with an approval, and once for each approval. Pass
 * them to `createTool()`. Every call needs an approval. The model reads the reason why a tool must
 * not run as the error of the tool.
 */
export function guard<Options extends ToolOptions>(
  approvals: Approvals,
  options: Options,
): Options & { requireApproval: true } {
  const { id, execute } = options;
  if (!execute) throw new TypeError(`${id} has nothing to run.`);
  const guarded: ToolOptions["execute"] = async (input, context) => {
    const { runId, agent } = context ?? {};
    if (typeof runId !== "string" || typeof agent?.toolCallId !== "string") {
      throw new TypeError(`${id} has to be called by an agent.`);
    }
    const call = callOf(runId, agent.toolCallId, id, input);
    return approvals.run(call, () => execute(input, context));
  };
  return { ...options, execute: guarded, requireApproval: true };
}

/** Asks people about each call for which a run is suspended. Returns the calls. If there are none,
 * the run does not wait for an approval. The agent needs a storage. */
export async function park<Result>(
  approvals: Approvals,
  agent: SuspendingAgent<Result>,
  runId: string,
  options: CallOptions = {},
): Promise<ToolCall[]> {
  const calls = await suspendedCalls(agent, runId);
  for (const call of calls) await approvals.askAbout(call, options);
  return calls;
}

/**
 * Goes on with each run whose calls are all answered, and calls `resume` with its result. park() the
 * run again there. The result is null if the run is not suspended any more: it went on before, and
 * its process died. Start it regularly. `execution` has the agent's options, such as `memory`.
 */
export async function resumeAnswered<Result>(
  approvals: Approvals,
  agent: SuspendingAgent<Result>,
  resume: (runId: string, result: Result | null) => Promise<unknown>,
  { execution = {}, ...options }: CallOptions & { execution?: object } = {},
): Promise<AnsweredRun[]> {
  const proceed = async (run: AnsweredRun): Promise<void> => {
    await resume(run.thread, await answerAll(agent, run, execution));
  };
  return approvals.resumeAnswered(FRAMEWORK, proceed, options);
}

/** Answers the calls one after the other, because the agent goes on after each of them. */
async function answerAll<Result>(
  agent: SuspendingAgent<Result>,
  run: AnsweredRun,
  execution: object,
): Promise<Result | null> {
  const open = new Map(run.verdicts);
  let result: Result | null = null;
  for (;;) {
    const calls = await suspendedCalls(agent, run.thread);
    const call = calls.find(({ callId }) => open.has(callId));
    const verdict = call && open.get(call.callId);
    if (!call || !verdict) return result;
    open.delete(call.callId);
    const { decision, words } = withoutEdit(verdict);
    const which = { ...execution, runId: run.thread, toolCallId: call.callId };
    result =
      decision === "allow"
        ? await agent.approveToolCallGenerate(which)
        : await agent.declineToolCallGenerate({ ...which, reason: words });
  }
}

async function suspendedCalls<Result>(
  agent: SuspendingAgent<Result>,
  runId: string,
): Promise<ToolCall[]> {
  const { runs } = await agent.listSuspendedRuns();
  const run = runs.find((each) => each.runId === runId);
  return (run?.toolCalls ?? [])
    .filter(({ requiresApproval }) => requiresApproval)
    .map(({ toolCallId, toolName, args }) => {
      if (toolCallId === undefined || toolName === undefined) {
        throw new TypeError(`A suspended call of ${runId} has no id or no name.`);
      }
      return callOf(runId, toolCallId, toolName, args as Arguments);
    });
}

function callOf(runId: string, callId: string, tool: string, args: Arguments): ToolCall {
  return { framework: FRAMEWORK, thread: runId, callId, tool, arguments: args };
}
