import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { NotWake, SignatureMismatch, verify } from "../src/index.js";
import { APPROVED } from "./scripted.js";

const SECRET = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=";
const OLDER = "whsec_ZmVkY2JhWllYV1ZVVFNSUVBPTk1MS0pJSEdGRURDQkE=";
const AT = Date.parse("2026-03-07T09:14:22Z") / 1000;
const BODY = new TextEncoder().encode(JSON.stringify(APPROVED));

function signed(secret = SECRET, body: Uint8Array = BODY): Record<string, string> {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const standard = createHmac("sha256", key).update(`m.${AT}.`).update(body).digest("base64");
  return {
    "X-Wake-Signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
    "webhook-id": "m",
    "webhook-timestamp": String(AT),
    "webhook-signature": `v1,${standard}`,
  };
}

function onlySpecified(): Record<string, string> {
  return { "X-Wake-Signature": signed()["X-Wake-Signature"] ?? "" };
}

describe("a genuine callback", () => {
  test.each([
    ["Headers", new Headers(signed())],
    ["an object of Node", { ...signed(), "webhook-id": ["m"] }],
    ["the specification's header alone", onlySpecified()],
  ])("is accepted with %s", async (_, headers) => {
    expect(await verify(BODY, headers, SECRET, { at: AT })).toEqual(APPROVED);
  });

  test("may be a text or a buffer, and its secret may end in a line break", async () => {
    expect(await verify(JSON.stringify(APPROVED), signed(), SECRET, { at: AT })).toEqual(APPROVED);
    expect(await verify(BODY.buffer, signed(), `${SECRET}\n`, { at: AT })).toEqual(APPROVED);
  });

  test("has both signatures during a rotation", async () => {
    const both = `${signed(OLDER)["webhook-signature"]} ${signed()["webhook-signature"]}`;

    for (const secret of [OLDER, SECRET]) {
      await verify(BODY, { ...signed(), "webhook-signature": both }, secret, { at: AT });
    }
  });

  test.each([-301, 301])("is refused %i seconds off", async (seconds) => {
    const at = AT + seconds;

    await expect(verify(BODY, signed(), SECRET, { at })).rejects.toThrow(SignatureMismatch);
    expect(await verify(BODY, signed(), SECRET, { at, toleranceSeconds: 400 })).toEqual(APPROVED);
  });
});

test.each([
  { "X-Wake-Signature": "sha256=00" },
  { "X-Wake-Signature": "" },
  {},
  { ...signed(), "webhook-signature": "v1,AAAA v1a,BBBB" },
  { ...signed(), "webhook-signature": "v1,***" },
  { ...signed(), "webhook-id": "another" },
  { ...signed(), "webhook-timestamp": "1e9" },
  { ...signed(), "webhook-timestamp": "" },
])("another signature is refused: %j", async (headers) => {
  await expect(verify(BODY, headers, SECRET, { at: AT })).rejects.toThrow(SignatureMismatch);
});

test.each([signed(), onlySpecified()])("another body or secret is refused", async (headers) => {
  const longer = new Uint8Array([...BODY, 32]);

  await expect(verify(longer, headers, SECRET, { at: AT })).rejects.toThrow(SignatureMismatch);
  await expect(verify(BODY, headers, OLDER, { at: AT })).rejects.toThrow(SignatureMismatch);
});

test.each(["", " ", "whsec_"])(
  "without a secret (%j) every callback is refused",
  async (secret) => {
    await expect(verify(BODY, signed(), secret, { at: AT })).rejects.toThrow(/no secret/);
  },
);

test("a signed body that is no answer is an error of its own", async () => {
  const body = new TextEncoder().encode("[]");

  await expect(verify(body, signed(SECRET, body), SECRET, { at: AT })).rejects.toThrow(NotWake);
});
