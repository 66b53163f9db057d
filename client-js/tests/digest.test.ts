import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { canonicalJson, sha256 } from "../src/digest.js";
import { ContentMismatch, contentDigest } from "../src/index.js";
import { RECEIPT, reply, type Scripted, scripted } from "./scripted.js";

interface Vector {
  name: string;
  sent: Parameters<typeof contentDigest>[0];
  receipt: Parameters<typeof contentDigest>[1];
  files: string[] | null;
  digest: string;
}

const VECTORS: Vector[] = JSON.parse(
  readFileSync(new URL("../../tests/client/digest_vectors.json", import.meta.url), "utf8"),
);
const QUESTION = {
  type: "question",
  headline: "Refund Ann?",
  summary: "EUR 180",
  digest: true,
} as const;

test.each(VECTORS)("$name", async ({ sent, receipt, files, digest }) => {
  expect(await contentDigest(sent, receipt, files ?? undefined)).toBe(digest);
});

/** Returns a client of a server that computes the digest of what it received, after a change. */
function storing(change: object): Scripted {
  return scripted([
    async ({ json }) => {
      const stored = { ...json, ...change } as Parameters<typeof contentDigest>[0];
      const receipt = { ...RECEIPT, nonce: "q1Xn0V2r7mJ8sYt3KcW5Zg" };
      return reply({ ...receipt, digest: await contentDigest(stored, receipt) }, 201);
    },
  ]);
}

describe("the receipt of a delivery", () => {
  test("is compared with what was sent", async () => {
    const receipt = await storing({}).wake.deliver({ ...QUESTION, details: { cents: 180_00 } });

    expect(receipt.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each([
    { headline: "Refund Bob?" },
    { summary: "EUR 90,000" },
    { details: { cents: 18_001 } },
    { type: "update" },
    { assumption: "I refund." },
    { timeout_seconds: 60 },
    { irreversible: false },
    { on_timeout: "abort" },
  ])("of another content is refused: %j", async (change) => {
    const sent = { ...QUESTION, details: { cents: 180_00 }, irreversible: true };

    await expect(storing(change).wake.deliver(sent)).rejects.toThrow(ContentMismatch);
  });

  test("without a digest is refused if the delivery asked for one", async () => {
    const { wake } = scripted([reply(RECEIPT, 201)]);

    await expect(wake.deliver(QUESTION)).rejects.toThrow(ContentMismatch);
  });
});

test("the members of a canonical form are sorted by code units", async () => {
  expect(canonicalJson({ b: [1.0, null], 10: "é\u2028", 9: 1e21, a: undefined })).toBe(
    '{"10":"é\u2028","9":1e+21,"b":[1,null]}',
  );
  expect(canonicalJson(JSON.parse('{"__proto__":1}'))).toBe('{"__proto__":1}');
  expect(await sha256({ b: 1, a: 2 })).toBe(await sha256({ a: 2, b: 1 }));
});
