/** Checks that the body of a response has the members that the client relies on. */

import { NotWake } from "./errors.js";
import type { Answer, Claim, Outcome, Receipt, Sweep, Upload, Withdrawal } from "./types.js";

type Kind = "string" | "number" | "boolean" | "object";

const STATUSES = ["pending", "approved", "rejected", "redirected"];

export function receiptOf(body: unknown, replayed: boolean): Receipt {
  return { ...checked<Receipt>(body, { delivery_id: "string", created_at: "string" }), replayed };
}

/** Reads the body of a poll or a callback, or an item of a sweep. Throws NotWake. */
export function answerOf(body: unknown): Answer {
  const answer = checked<Answer>(body, { delivery_id: "string", status: "string" });
  if (!STATUSES.includes(answer.status)) throw notWake(`unknown status: ${answer.status}`);
  const missing = ["feedback", "edited_content", "responded_at"].find((name) => !(name in answer));
  if (missing) throw notWake(`${missing} is missing`);
  // Servers without the extensions for these send none of them.
  return {
    ...answer,
    expired: Boolean(answer.expired),
    late: Boolean(answer.late),
    erased: Boolean(answer.erased),
    expires_at: answer.expires_at ?? null,
  };
}

export function sweepOf(body: unknown): Sweep {
  const sweep = checked<Sweep>(body, { total: "number", has_more: "boolean" });
  if (!Array.isArray(sweep.deliveries)) throw notWake("deliveries is not a list");
  return { ...sweep, deliveries: sweep.deliveries.map(answerOf) };
}

export function withdrawalOf(body: unknown): Withdrawal {
  return checked<Withdrawal>(body, { delivery_id: "string", withdrawn_at: "string" });
}

export function uploadOf(body: unknown): Upload {
  return checked<Upload>(body, { blob_id: "string", sha256: "string", media_type: "string" });
}

export function claimOf(body: unknown, replayed: boolean): Claim {
  const claim = checked<Claim>(body, { delivery_id: "string", claim_id: "string" });
  return { ...claim, replayed };
}

export function outcomeOf(body: unknown): Outcome {
  return checked<Outcome>(body, { delivery_id: "string", reported_at: "string" });
}

/** Reads the names of a server's extensions. A server of the specification need not have any. */
export function extensionsOf(body: unknown): ReadonlySet<string> {
  const { extensions = [] } = checked<{ extensions?: unknown }>(body, {});
  if (!Array.isArray(extensions)) throw notWake("extensions is not a list");
  return new Set(extensions.map(String));
}

export function notWake(problem: string): NotWake {
  return new NotWake("not_wake", `The response does not follow the protocol: ${problem}`);
}

function checked<Body>(body: unknown, members: Record<string, Kind>): Body {
  if (typeof body !== "object" || body === null) throw notWake("it is not an object");
  for (const [name, kind] of Object.entries(members)) {
    const value = (body as Record<string, unknown>)[name];
    if (typeof value !== kind) throw notWake(`${name} is not a ${kind}`);
  }
  return body as Body;
}
