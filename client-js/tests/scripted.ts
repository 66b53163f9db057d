/** Answers a client's requests as a test says, and measures time without waiting. */

import type { Clock } from "../src/clock.js";
import { Wake, type WakeOptions } from "../src/index.js";

export const ID = "550e8400-e29b-41d4-a716-446655440000";
export const PENDING = {
  delivery_id: ID,
  status: "pending",
  feedback: null,
  edited_content: null,
  responded_at: null,
  expires_at: null,
  expired: false,
  late: false,
  erased: false,
};
export const APPROVED = {
  ...PENDING,
  status: "approved",
  responded_at: "2026-03-07T09:14:22.000000Z",
};
export const RECEIPT = {
  delivery_id: ID,
  status: "received",
  created_at: "2026-03-07T09:00:00.000000Z",
};

export interface Sent {
  url: URL;
  init: RequestInit;
  headers: Headers;
  json: Record<string, unknown>;
}

export type Step = Response | Error | ((sent: Sent) => Response | Promise<Response>);

export function reply(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

export function failure(
  status: number,
  code: string,
  headers: Record<string, string> = {},
): Response {
  return reply({ error: { code, message: "A reason." } }, status, headers);
}

/** Is a clock whose time passes only while someone sleeps. */
export class FakeClock implements Clock {
  time = Date.parse("2026-03-07T09:00:00Z");
  readonly slept: number[] = [];

  now = (): number => this.time;

  sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.time += ms;
  };
}

export interface Scripted {
  wake: Wake;
  sent: Sent[];
  clock: FakeClock;
}

/** Returns a client whose requests get the replies of the steps, in order. */
export function scripted(steps: Step[], options: Partial<WakeOptions> = {}): Scripted {
  const sent: Sent[] = [];
  const clock = new FakeClock();
  const fetch = async (
    input: string | URL | Request,
    init: RequestInit = {},
  ): Promise<Response> => {
    const json = typeof init.body === "string" ? JSON.parse(init.body) : {};
    const request = { url: new URL(String(input)), init, headers: new Headers(init.headers), json };
    sent.push(request);
    const step = steps.shift();
    if (step === undefined) throw new Error(`There is no step for ${request.url}.`);
    if (step instanceof Error) throw step;
    return step instanceof Response ? step : step(request);
  };
  const own = { endpoint: "https://wake.example.com", key: "wk_live_a", agentId: "painter" };
  return { wake: new Wake({ ...own, fetch, clock, ...options }), sent, clock };
}
