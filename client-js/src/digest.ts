/**
 * Computes the digest of a delivery from what was sent (docs/protocol.md of the server, Digest). So
 * a program notices an approval of other content before it acts on the approval.
 */

import { ContentMismatch } from "./errors.js";
import { type Answer, type Delivery, isAnswered, type Receipt } from "./types.js";

/** Contains what a receipt adds to what was sent. */
export type Stored = Pick<Receipt, "nonce" | "on_timeout" | "quorum" | "files">;

/** Contains the fields of a delivery, with its `agent_id`. */
export type SentContent = Delivery & { agent_id: string };

/**
 * Returns the digest of a delivery, in hexadecimal. `files` has the SHA-256 of each file that the
 * details name; without it, the receipt's list is used.
 *
 * So a service computes the digest of the action that it is about to do. The server accepts no
 * claim with another digest, so a wrong receipt claims nothing.
 */
export async function contentDigest(
  sent: SentContent,
  receipt: Stored,
  files?: readonly string[],
): Promise<string> {
  return sha256({
    agent_id: sent.agent_id.normalize("NFC"),
    assumption: sent.assumption ?? null,
    // The text of the details is what JSON.stringify() put into the body of the request.
    details: sent.details == null ? null : JSON.stringify(sent.details),
    files: files ?? receipt.files ?? [],
    headline: sent.headline,
    irreversible: Boolean(sent.irreversible),
    nonce: receipt.nonce ?? null,
    on_timeout: receipt.on_timeout ?? sent.on_timeout ?? null,
    quorum: receipt.quorum ?? null,
    summary: sent.summary,
    supersedes: sent.supersedes == null ? null : canonicalUuid(sent.supersedes),
    timeout_seconds: sent.timeout_seconds ?? null,
    type: sent.type,
  });
}

/** Throws ContentMismatch if the server stored something other than what was sent. */
export async function checkReceipt(
  receipt: Receipt,
  sent: SentContent,
  files: readonly string[] | undefined,
): Promise<void> {
  // A server without digests sends none, which also is a mismatch.
  if (receipt.digest !== (await contentDigest(sent, receipt, files))) {
    throw new ContentMismatch(
      `The digest of delivery ${receipt.delivery_id} is not that of what was sent. ` +
        "Do not act on its answer.",
    );
  }
}

/** Returns the answer. Throws ContentMismatch if it is to content with another digest. */
export function checkAnswer(answer: Answer, digest: string | undefined): Answer {
  if (digest !== undefined && isAnswered(answer) && answer.digest !== digest) {
    throw new ContentMismatch(
      `The answer to delivery ${answer.delivery_id} is not for what was sent. Do not act on it.`,
    );
  }
  return answer;
}

/** Returns the SHA-256 of the canonical form (RFC 8785) of a value, in hexadecimal. */
export async function sha256(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(value));
  const hash = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the canonical JSON text (RFC 8785) of what JSON.stringify() sends for a value. */
export function canonicalJson(value: unknown): string {
  return canonical(JSON.parse(JSON.stringify(value) ?? "null"));
}

/** JSON.stringify() already writes texts and numbers in their canonical form, and sort() already
 * sorts by UTF-16 code units. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .map(([name, member]) => [JSON.stringify(name), canonical(member), name] as const)
    .sort(([, , one], [, , other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${name}:${member}`).join(",")}}`;
}

/** Returns a UUID in lower case with hyphens. Throws a TypeError for another text. */
function canonicalUuid(text: string): string {
  const digits = text.replace(/^urn:uuid:|[-{}]/gi, "").toLowerCase();
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(digits);
  if (!parts) throw new TypeError(`${text} is not the id of a delivery.`);
  return parts.slice(1).join("-");
}

/** Returns the ids of the blobs that the blocks name, each once, in their order. */
export function namedBlobs(details: unknown): string[] {
  const page = details as { wake_blocks?: unknown; blocks?: unknown } | null | undefined;
  if (page?.wake_blocks !== 1 || !Array.isArray(page.blocks)) return [];
  const blobs = page.blocks
    .filter((block) => block?.type === "image" || block?.type === "file")
    .map((block) => block.blob)
    .filter((id) => typeof id === "string" && id !== "");
  return [...new Set<string>(blobs)];
}
