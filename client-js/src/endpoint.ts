/** Checks the address of a server and a key before the key is sent anywhere. */

const PREFIX = "/wake/v1";
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Returns the address of the protocol on a server. `endpoint` is the server's address, with or
 * without `/wake/v1`. Throws a TypeError for an address that must not receive a key.
 */
export function apiAddress(endpoint: string): string {
  const url = parsed(endpoint);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new TypeError(`An address begins with https:// and names a host: ${endpoint}`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("An address contains no password, query or fragment.");
  }
  if (url.protocol === "http:" && !LOOPBACK.includes(url.hostname)) {
    throw new TypeError(
      `${url.hostname} must be reached over https: ` +
        "others on the network can read a key that is sent over plain http.",
    );
  }
  if (url.pathname.startsWith("/@")) {
    throw new TypeError(`This is the address for calling an agent. Its server is ${url.origin}`);
  }
  const path = url.pathname.replace(/\/+$/, "");
  return url.origin + (path.endsWith(PREFIX) ? path : path + PREFIX);
}

/** Returns the key without surrounding white space. The error of an invalid key has no part of it. */
export function checkedKey(key: string): string {
  const text = (key ?? "").trim();
  if (!text) {
    throw new TypeError("A key is needed: the wk_live_... that was issued for your agent.");
  }
  if (!/^[!-~]+$/.test(text)) {
    throw new TypeError("This is not a key: it contains a space or a character that no key has.");
  }
  return text;
}

function parsed(endpoint: string): URL {
  try {
    return new URL(endpoint.trim());
  } catch {
    throw new TypeError(`This is not a valid address: ${endpoint}`);
  }
}
