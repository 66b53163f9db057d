/** Is a server with claims, in memory, for one team whose people answer at once. */

import { contentDigest } from "../src/digest.js";
import { Wake } from "../src/index.js";
import { APPROVED, FakeClock, failure, PENDING, RECEIPT, reply } from "./scripted.js";

type Body = Record<string, unknown>;

interface Delivery {
  key: string | null;
  body: Body;
  digest: string;
  answer: Body;
  claimed: string | null;
  outcomes: Body[];
}

export class Inbox {
  readonly deliveries = new Map<string, Delivery>();
  /** The first segments of the paths that cannot be reached. */
  readonly away = new Set<string>();
  /** The first segments of the paths whose responses are lost. */
  readonly lost = new Set<string>();
  readonly #reports = new Set<string | null>();
  /** So many claims are answered at the same time. */
  together = 1;
  #claiming: (() => void)[] = [];
  readonly wake: Wake = new Wake({
    ...{ endpoint: "https://wake.example.com", key: "wk_live_a", agentId: "painter" },
    ...{ retryForSeconds: 0, clock: new FakeClock() },
    fetch: async (input, init = {}) => {
      const url = new URL(String(input));
      const [, , , verb = "", id = ""] = url.pathname.split("/");
      if (this.away.has(verb)) throw new TypeError("away");
      if (verb === "claim") await this.#allClaim();
      const key = new Headers(init.headers).get("Idempotency-Key");
      const body = JSON.parse(String(init.body ?? "{}"));
      const response = await this.#answer(verb, id, key, body, url);
      if (this.lost.has(verb)) throw new TypeError("lost");
      return response;
    },
  });

  /** Answers the newest delivery. */
  respond(answer: Body = {}): void {
    const newest = [...this.deliveries.values()].at(-1);
    if (newest) newest.answer = { ...APPROVED, ...newest.answer, status: "approved", ...answer };
  }

  async #allClaim(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#claiming.push(resolve);
      if (this.#claiming.length < this.together) return;
      for (const goOn of this.#claiming.splice(0)) goOn();
    });
  }

  async #answer(
    verb: string,
    id: string,
    key: string | null,
    body: Body,
    url: URL,
  ): Promise<Response> {
    const delivery = this.deliveries.get(id);
    if (verb === "") return reply({ extensions: ["digest", "claim", "outcome"] });
    if (verb === "deliver") return this.#deliver(key, body);
    if (verb === "responses") return this.#sweep(url.searchParams.get("status") ?? "");
    if (!delivery) return failure(404, "not_found");
    if (verb === "response") return reply(delivery.answer);
    if (verb === "withdraw") {
      delivery.answer["withdrawn_at"] = "2026-03-07T09:14:22Z";
      return reply({ delivery_id: id, withdrawn_at: "2026-03-07T09:14:22Z", reason: null });
    }
    if (verb === "outcome") {
      if (!this.#reports.has(key)) delivery.outcomes.push(body);
      this.#reports.add(key);
      return reply({ delivery_id: id, status: body["status"], reported_at: "now" }, 201);
    }
    if (delivery.claimed !== null && delivery.claimed !== key)
      return failure(409, "already_claimed");
    if (!["approved", "redirected"].includes(String(delivery.answer["status"]))) {
      return failure(409, "not_approved");
    }
    delivery.claimed = key;
    return reply({ delivery_id: id, claim_id: "c", claimed_at: "now", status: "approved" });
  }

  async #deliver(key: string | null, body: Body): Promise<Response> {
    const same = [...this.deliveries].find(([, delivery]) => delivery.key === key);
    const id = same?.[0] ?? crypto.randomUUID();
    const receipt = { ...RECEIPT, delivery_id: id, nonce: "n" };
    const digest = await contentDigest(body as Parameters<typeof contentDigest>[0], receipt);
    const answer = { ...PENDING, delivery_id: id, digest };
    if (!same) this.deliveries.set(id, { key, body, digest, answer, claimed: null, outcomes: [] });
    return reply({ ...receipt, digest }, 201);
  }

  #sweep(status: string): Response {
    const answers = [...this.deliveries.values()].map(({ answer }) => answer);
    const deliveries = answers.filter((answer) => status.includes(String(answer["status"])));
    return reply({ deliveries, total: deliveries.length, has_more: false, next_since: "later" });
  }
}
