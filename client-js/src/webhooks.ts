/** Verifies that a callback comes from the server before its answer is read. */

import { answerOf } from "./bodies.js";
import type { Answer } from "./types.js";

const PREFIX = "whsec_";
const TOLERANCE_SECONDS = 300;

export interface VerifyOptions {
  /** How many seconds the signed time may differ from `at`. */
  toleranceSeconds?: number;
  /** Unix time in seconds, now by default. */
  at?: number;
}

/** The headers of a request, as Headers or as Node's object. */
export type CallbackHeaders = Headers | Record<string, string | string[] | undefined>;

/** The server did not sign this callback with this secret, or sent it too long ago. */
export class SignatureMismatch extends Error {
  override name = "SignatureMismatch";

  constructor(reason = "The callback is not signed with this secret, or was sent too long ago.") {
    super(reason);
  }
}

/**
 * Returns the answer in a callback. Throws SignatureMismatch, or NotWake if the body is signed but
 * is not an answer.
 *
 * `rawBody` is the body of the request before it is parsed. `secret` is the whole `whsec_...`. If
 * the Standard Webhooks headers are present, only these headers are checked. A callback with only
 * `X-Wake-Signature` has no signed time and may have any age. An old callback does no harm, because
 * an answer is final. Signatures are compared in constant time, by the platform's HMAC.
 */
export async function verify(
  rawBody: Uint8Array | ArrayBuffer | string,
  headers: CallbackHeaders,
  secret: string,
  options: VerifyOptions = {},
): Promise<Answer> {
  const text = (secret ?? "").trim();
  // Anyone could sign with an empty secret, which an unset variable is.
  if (!text.replace(PREFIX, "").trim()) {
    throw new SignatureMismatch("There is no secret to verify with: whsec_ and base64.");
  }
  const body = bytesOf(rawBody);
  const header = reader(headers);
  const isGenuine =
    header("webhook-signature") === null
      ? await hasSpecifiedSignature(body, header("x-wake-signature") ?? "", text)
      : await hasStandardSignature(body, header, text, options);
  if (!isGenuine) throw new SignatureMismatch();
  return answerOf(parsed(body));
}

/** Returns whether `X-Wake-Signature` matches (specification, "Webhook Signatures"). */
async function hasSpecifiedSignature(
  body: Uint8Array<ArrayBuffer>,
  header: string,
  secret: string,
): Promise<boolean> {
  const hex = /^sha256=([0-9a-f]{64})$/.exec(header)?.[1];
  if (hex === undefined) return false;
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  return isSigned(body, signature, new TextEncoder().encode(secret));
}

/** Returns whether one of the signatures matches (standardwebhooks.com). There are two while a
 * secret is being rotated. */
async function hasStandardSignature(
  body: Uint8Array<ArrayBuffer>,
  header: (name: string) => string | null,
  secret: string,
  { toleranceSeconds = TOLERANCE_SECONDS, at = Date.now() / 1000 }: VerifyOptions,
): Promise<boolean> {
  const timestamp = header("webhook-timestamp") ?? "";
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(Number(timestamp) - at) <= toleranceSeconds)) {
    return false;
  }
  const key = fromBase64(secret.replace(PREFIX, ""));
  if (!key) throw new SignatureMismatch("The secret is not valid: it is whsec_ and base64.");
  const before = new TextEncoder().encode(`${header("webhook-id") ?? ""}.${timestamp}.`);
  const signed = new Uint8Array([...before, ...body]);
  for (const each of (header("webhook-signature") ?? "").split(/\s+/)) {
    const signature = each.startsWith("v1,") ? fromBase64(each.slice(3)) : null;
    if (signature && (await isSigned(signed, signature, key))) return true;
  }
  return false;
}

async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  key: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, hmac, false, ["verify"]);
  return crypto.subtle.verify("HMAC", imported, signature, content);
}

function reader(headers: CallbackHeaders): (name: string) => string | null {
  if (typeof headers.get === "function") return (name) => (headers as Headers).get(name);
  const lower = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) lower.set(name.toLowerCase(), [value].flat().join(" "));
  }
  return (name) => lower.get(name) ?? null;
}

function bytesOf(body: Uint8Array | ArrayBuffer | string): Uint8Array<ArrayBuffer> {
  return typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return null;
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
