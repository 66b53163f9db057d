// A graph whose own node asks people, without a model.
import { Annotation, Command, interrupt, START, StateGraph } from "@langchain/langgraph";
import { park, perform, question, resumeAnswered } from "wake-client/langgraph";
import { FileSaver } from "./checkpoints.mjs";
import { approvals, asked, print, refund, thread } from "./refunds.mjs";

async function refundNode(_, config) {
  const decision = interrupt(question("refund", asked));
  const args = process.env.TAMPER ? { ...asked, cents: 9_000_000 } : asked;
  return { said: await perform(approvals, config, decision, "refund", args, refund) };
}

const graph = new StateGraph(Annotation.Root({ said: Annotation() }))
  .addNode("refund", refundNode)
  .addEdge(START, "refund")
  .compile({ checkpointer: new FileSaver() });

async function proceed(thread, input) {
  const config = { configurable: { thread_id: thread }, durability: "sync" };
  const state = await graph.invoke(input, config);
  const paused = await park(approvals, graph, thread);
  return paused.length ? null : state.said;
}

const said = {};
if (process.argv[2] === "start") {
  said[thread] = await proceed(thread, { said: "" });
} else {
  await resumeAnswered(approvals, graph, async (thread, answers) => {
    said[thread] = await proceed(thread, answers && new Command({ resume: answers }));
  });
}
print(said);
