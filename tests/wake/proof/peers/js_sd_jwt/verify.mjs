// Verifies SD-JWTs with @sd-jwt/core, and their signatures with jose and the server's key set. Reads
// {"keys": [...], "receipts": [...]} from standard input, and prints for each receipt its claims, or
// the error.
import { createHash, randomBytes } from "node:crypto";
import { text } from "node:stream/consumers";
import { SDJwtInstance } from "@sd-jwt/core";
import { compactVerify, createLocalJWKSet } from "jose";

const { keys, receipts } = JSON.parse(await text(process.stdin));
const keySet = createLocalJWKSet({ keys });
const library = new SDJwtInstance({
  hasher: (data) => createHash("sha256").update(Buffer.from(data)).digest(),
  hashAlg: "sha-256",
  saltGenerator: (length) => randomBytes(length).toString("base64url"),
  verifier: async (data, signature) => {
    await compactVerify(`${data}.${signature}`, keySet);
    return true;
  },
});
const results = [];
for (const receipt of receipts) {
  try {
    const { payload, header } = await library.verify(receipt);
    results.push({ payload, header });
  } catch (error) {
    results.push({ error: String(error) });
  }
}
process.stdout.write(JSON.stringify(results));
