/** Signs a program in: a person approves it in their browser, and the server issues a key (RFC 8628). */

import { type Clock, systemClock } from "./clock.js";
import { apiAddress, checkedKey } from "./endpoint.js";
import { errorOf, NotWake, retryAfter, Unavailable, WakeError } from "./errors.js";
import { VERSION } from "./version.js";

/** Holds what a program needs to deliver as an agent. It fits the options of `new Wake()`. */
export interface Access {
  endpoint: string;
  key: string;
  agentId: string;
}

/** Holds the code that a person types at `address`, or opens by `link`. */
export interface Code {
  text: string;
  address: string;
  link: string;
  seconds: number;
}

export interface SignInOptions {
  endpoint: string;
  /** The name of the machine, which the person sees. */
  machine: string;
  /** The agent that is proposed. The person may choose another one. */
  agentId?: string | undefined;
  /** Shows the code to the person. */
  announce: (code: Code) => void;
  fetch?: typeof globalThis.fetch;
  /** For tests. */
  clock?: Clock;
}

type Body = Record<string, unknown>;

interface Reply {
  response: Response;
  body: Body | undefined;
}

const CLIENT_ID = "wake-client";
const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
const RESPONSE_MS = 15_000;
const SLOW_DOWN_SECONDS = 5;
const MAX_INTERVAL_SECONDS = 60;
const MAX_MACHINE = 80;
const TEMPORARY = [429, 502, 503, 504];
const ENDED: Record<string, string> = {
  access_denied: "A person refused the sign-in in the browser.",
  expired_token: "The code has expired. Run the command again for another one.",
  invalid_grant: "The code does not work any more. Run the command again for another one.",
};
const NO_SIGN_IN =
  "This server has no sign-in for terminals. Issue a key on the agent's page, and set WAKE_API_KEY.";

/**
 * Returns the access that a person approved. Throws a TypeError for an address that must not receive
 * a key, and WakeError if the server does not issue one.
 */
export async function signIn(options: SignInOptions): Promise<Access> {
  const origin = apiAddress(options.endpoint).slice(0, -"/wake/v1".length);
  const http = new Server(origin, options.fetch ?? globalThis.fetch);
  const clock = options.clock ?? systemClock;
  const { deviceCode, code, interval } = await begin(http, options);
  options.announce(code);
  const until = clock.now() + code.seconds * 1000;
  const form = { grant_type: DEVICE_CODE, device_code: deviceCode, client_id: CLIENT_ID };
  for (let pause = interval; ; ) {
    await clock.sleep(pause * 1000);
    if (clock.now() >= until) throw ended("expired_token");
    const reply = await http.post("/oauth/token", form).catch((error: unknown) => {
      if (error instanceof Unavailable) return null;
      throw error;
    });
    if (reply?.response.ok) return accessOf(reply.body, origin);
    pause = nextPause(pause, reply, http);
  }
}

async function begin(
  http: Server,
  { machine, agentId }: SignInOptions,
): Promise<{ deviceCode: string; code: Code; interval: number }> {
  const { response, body } = await http.post("/oauth/device", {
    client_id: CLIENT_ID,
    machine: machine.slice(0, MAX_MACHINE),
    ...(agentId ? { agent_id: agentId } : {}),
  });
  if (response.status === 404) throw new NotWake("no_sign_in", NO_SIGN_IN, { status: 404 });
  if (!response.ok) throw http.error(response, body);
  const address = textOf(body, "verification_uri");
  const code = {
    text: textOf(body, "user_code"),
    address,
    link: String(body?.["verification_uri_complete"] ?? address),
    seconds: Number(body?.["expires_in"]),
  };
  const deviceCode = textOf(body, "device_code");
  if (!(code.text && address && deviceCode && code.seconds > 0)) {
    throw new NotWake("not_wake", `${http.origin} did not answer with a code.`);
  }
  for (const link of [code.address, code.link]) checkOrigin(link, http.origin);
  return { deviceCode, code, interval: Math.max(1, Number(body?.["interval"] ?? 5) || 5) };
}

/**
 * Throws NotWake if the code belongs to another server. A server that passes on the codes of another
 * one would get the key that the other one issues.
 */
function checkOrigin(link: string, origin: string): void {
  if (URL.canParse(link) && new URL(link).origin === new URL(origin).origin) return;
  throw new NotWake(
    "other_server",
    `The server at ${origin} sends you to ${link}, which is another address. If that is your ` +
      "server, sign in there.",
  );
}

/**
 * Returns how many seconds to wait before the next poll, which grows if the server cannot keep up
 * (RFC 8628, 3.5). Throws WakeError if there will be no key.
 */
function nextPause(pause: number, reply: Reply | null, http: Server): number {
  const doubled = Math.max(pause, Math.min(pause * 2, MAX_INTERVAL_SECONDS));
  if (reply === null) return doubled;
  const error = http.error(reply.response, reply.body);
  if (TEMPORARY.includes(reply.response.status)) return Math.max(doubled, error.retryAfter ?? 0);
  if (error.code === "slow_down") return pause + SLOW_DOWN_SECONDS;
  if (error.code === "authorization_pending") return pause;
  throw error;
}

function accessOf(body: Body | undefined, origin: string): Access {
  try {
    const agentId = textOf(body, "agent_id");
    if (agentId)
      return { endpoint: origin, key: checkedKey(textOf(body, "access_token")), agentId };
  } catch {
    // The error below says the same without a part of the key.
  }
  throw new NotWake("not_wake", `${origin} did not answer with a key.`);
}

function textOf(body: Body | undefined, name: string): string {
  const value = body?.[name];
  return typeof value === "string" ? value : "";
}

function ended(code: string, description?: string, facts = {}): WakeError {
  return new WakeError(code, description || (ENDED[code] ?? "The server refused."), facts);
}

class Server {
  readonly origin: string;
  readonly #fetch: typeof globalThis.fetch;

  constructor(origin: string, fetch: typeof globalThis.fetch) {
    this.origin = origin;
    this.#fetch = fetch;
  }

  /** Sends a form. Throws Unavailable if there is no answer. */
  async post(path: string, form: Record<string, string>): Promise<Reply> {
    const url = new URL(this.origin + path);
    try {
      const response = await this.#fetch(url, {
        method: "POST",
        headers: { Accept: "application/json", "User-Agent": `wake-client-js/${VERSION}` },
        body: new URLSearchParams(form),
        redirect: "manual",
        signal: AbortSignal.timeout(RESPONSE_MS),
      });
      return { response, body: objectOf(await response.text()) };
    } catch (cause) {
      const reason = `${url.host} could not be reached, or did not answer.`;
      throw new Unavailable("unreachable", reason, { cause });
    }
  }

  /** Returns the error of the authorization server (RFC 6749, 5.2), or of a proxy before it. */
  error(response: Response, body: Body | undefined): WakeError {
    const code = textOf(body, "error");
    if (!code) return errorOf(response, body, new URL(this.origin), Date.now());
    return ended(code, textOf(body, "error_description"), {
      status: response.status,
      retryAfter: retryAfter(response.headers.get("Retry-After"), Date.now()),
    });
  }
}

function objectOf(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Body) : undefined;
  } catch {
    return undefined;
  }
}
