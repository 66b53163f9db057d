/** Turns every failure of a request into one kind of error. */

/** Describes a problem with one field of a delivery. */
export interface FieldProblem {
  field: string;
  code: string;
  message: string;
}

export interface ErrorFacts {
  status?: number | null;
  fields?: readonly FieldProblem[];
  retryAfter?: number | null;
  requestId?: string | null;
  deliveryStatus?: string | null;
  cause?: unknown;
}

/**
 * The server did not do what it was asked to do.
 *
 * `code` and `reason` are the server's own. `status` is the HTTP status, or null if there was no
 * response. `fields` name the problems of a delivery. `retryAfter` is the number of seconds that
 * the server asked to wait. `requestId` is the `X-Request-Id` of the response, which a proxy may
 * have set.
 */
export class WakeError extends Error {
  override name = "WakeError";
  readonly code: string;
  readonly reason: string;
  readonly status: number | null;
  readonly fields: readonly FieldProblem[];
  readonly retryAfter: number | null;
  readonly requestId: string | null;

  constructor(code: string, reason: string, facts: ErrorFacts = {}) {
    const problems = (facts.fields ?? []).map(({ field, message }) => `${field}: ${message}`);
    const added = problems.filter((problem) => !reason.includes(problem));
    super([`${reason} (${code})`, ...added].join("; "), { cause: facts.cause });
    this.code = code;
    this.reason = reason;
    this.status = facts.status ?? null;
    this.fields = facts.fields ?? [];
    this.retryAfter = facts.retryAfter ?? null;
    this.requestId = facts.requestId ?? null;
  }
}

/** The request does not fit the protocol (400, 405, 413, 415, 422). Nothing was stored. */
export class NotAccepted extends WakeError {
  override name = "NotAccepted";
}

/** The key is unknown, revoked or expired (401). Ask a person for a new one. */
export class KeyNotValid extends WakeError {
  override name = "KeyNotValid";
}

/** The key may not do this, its agent is paused, or the request came over plain http (403). */
export class NotAllowed extends WakeError {
  override name = "NotAllowed";
}

/** A person has answered this delivery, so it was not withdrawn (409). */
export class AlreadyAnswered extends WakeError {
  override name = "AlreadyAnswered";
}

/**
 * The approval was not used (409). `code` is already_claimed, not_approved, digest_mismatch or
 * approval_expired. For not_approved, `deliveryStatus` says what the delivery is instead, such as
 * "rejected", or "superseded" if people decided about a newer version. Do not act.
 */
export class NotClaimed extends WakeError {
  override name = "NotClaimed";
  readonly deliveryStatus: string | null;

  constructor(code: string, reason: string, facts: ErrorFacts = {}) {
    super(code, reason, facts);
    this.deliveryStatus = facts.deliveryStatus ?? null;
  }
}

/**
 * The content that the server stored, or that a person answered, is not the content that was sent.
 * Do not act.
 */
export class ContentMismatch extends WakeError {
  override name = "ContentMismatch";

  constructor(reason: string) {
    super("content_mismatch", reason);
  }
}

/** This key has no such delivery (404). */
export class NotFound extends WakeError {
  override name = "NotFound";
}

/** The quota of the key is spent (429). */
export class TooManyRequests extends WakeError {
  override name = "TooManyRequests";
}

/** The server cannot be reached, or cannot answer at the moment (5xx). */
export class Unavailable extends WakeError {
  override name = "Unavailable";
}

/** The response does not follow the protocol. Check the endpoint. */
export class NotWake extends WakeError {
  override name = "NotWake";
}

const KINDS: Record<number, typeof WakeError> = {
  400: NotAccepted,
  401: KeyNotValid,
  403: NotAllowed,
  404: NotFound,
  405: NotAccepted,
  409: AlreadyAnswered,
  413: NotAccepted,
  415: NotAccepted,
  422: NotAccepted,
  429: TooManyRequests,
};
const NOT_CLAIMED = ["already_claimed", "not_approved", "digest_mismatch", "approval_expired"];

/** Returns the error for a response that is not a success. `now` is Unix time in milliseconds. */
export function errorOf(response: Response, body: unknown, url: URL, now: number): WakeError {
  const { status } = response;
  const error = serverError(body);
  const code = typeof error["code"] === "string" ? error["code"] : `http_${status}`;
  const facts: ErrorFacts = {
    status,
    fields: fieldProblems(error["fields"]),
    retryAfter: retryAfter(response.headers.get("Retry-After"), now),
    requestId: response.headers.get("X-Request-Id"),
    deliveryStatus: typeof error["status"] === "string" ? error["status"] : null,
  };
  const reason = typeof error["message"] === "string" ? error["message"] : explain(response, url);
  return new (kindOf(status, error, code))(code, reason, facts);
}

/** Returns the seconds of a `Retry-After`, which is a number or a date (RFC 9110, 10.2.3). */
export function retryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text);
  // The oldest form of a date, "Sun Nov  6 08:49:37 1994", is in GMT and does not say so.
  const date = /\d{4}$/.test(text) ? `${text} GMT` : text;
  const at = /^[A-Za-z]/.test(text) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, (at - now) / 1000);
}

function kindOf(status: number, error: Record<string, unknown>, code: string): typeof WakeError {
  if (NOT_CLAIMED.includes(code)) return NotClaimed;
  if (status >= 500) return Unavailable;
  // A 404 without a reason comes from an address that is not a Wake server's.
  if (status === 404 && error["code"] === undefined) return NotWake;
  return KINDS[status] ?? NotWake;
}

/** Returns the `error` of the body, or {} if a proxy answered instead of the server. */
function serverError(body: unknown): Record<string, unknown> {
  const error = (body as { error?: unknown } | null | undefined)?.error;
  return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
}

function explain(response: Response, url: URL): string {
  if (isRedirect(response)) {
    const location = response.headers.get("Location");
    return (
      `${url.host} answers with a redirect${location ? ` to ${location}` : ""}. A key is sent only ` +
      "to the endpoint that you gave. If that address is your server, use it as the endpoint."
    );
  }
  const hint = response.status >= 500 ? "" : " Check the endpoint.";
  return `${url.host} answered ${response.status} without a reason.${hint}`;
}

function isRedirect(response: Response): boolean {
  const { status } = response;
  return response.type === "opaqueredirect" || (status >= 300 && status < 400);
}

function fieldProblems(problems: unknown): FieldProblem[] {
  if (!Array.isArray(problems)) return [];
  return problems
    .filter((problem) => typeof problem === "object" && problem !== null)
    .map(({ field, code, message }) => ({
      field: String(field ?? ""),
      code: String(code ?? ""),
      message: String(message ?? ""),
    }));
}
