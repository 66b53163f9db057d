// Is compiled with tsc --strict, and never run.
import { type Answer, blocks, contentDigest, NotClaimed, verify, Wake, WakeError } from "wake-client";
import { Approvals } from "wake-client/adapters";
import { FileStore, fileBook } from "wake-client/node";

export async function use(controller: AbortController): Promise<void> {
  const wake = new Wake({ endpoint: "https://wake.example.com", key: "wk_live_a", agentId: "a", fetch });
  const details = blocks.page([blocks.choice("Which?", ["a", blocks.option("b")])]);
  const receipt = await wake.deliver(
    { type: "question", headline: "Which?", summary: "Choose.", details, digest: true },
    { idempotencyKey: "one", signal: controller.signal },
  );
  const digest: string | undefined = receipt.digest;
  const answer: Answer = await wake.wait(receipt, { timeoutSeconds: 5 });
  if (answer.status === "redirected") console.log(answer.edited_content, answer.feedback?.length);
  try {
    const claim = await wake.claim(receipt.delivery_id, digest ?? "");
    console.log(claim.claim_id satisfies string);
  } catch (error) {
    if (error instanceof NotClaimed) console.log(error.deliveryStatus);
    else if (error instanceof WakeError) console.log(error.code, error.requestId, error.retryAfter);
  }
  const responses = wake.responses({ since: null, status: ["approved"] });
  for await (const each of responses) console.log(each.delivery_id);
  console.log(responses.nextSince satisfies string | null);
  await fileBook(wake, "book").ask("name", { headline: "Which?", summary: "Choose." });
  const approvals = new Approvals(wake, new FileStore("approvals"), {
    tools: { refund: { timeoutSeconds: 60, onTimeout: "reject" } },
  });
  const call = { framework: "a", thread: "b", callId: "c", tool: "d", arguments: { e: 1 } };
  console.log((await approvals.run(call, async () => 1)) satisfies number);
  const verdict = await approvals.verdict(call);
  if (verdict?.decision === "edit") console.log(verdict.arguments["e"]);
  await verify(new Uint8Array(), new Headers(), "whsec_a");
  await contentDigest({ type: "update", headline: "a", summary: "b", agent_id: "a" }, receipt);
  // @ts-expect-error There is no such type.
  await wake.deliver({ type: "answer", headline: "a", summary: "b" });
  // @ts-expect-error The endpoint is needed.
  new Wake({ key: "wk_live_a", agentId: "a" });
}
