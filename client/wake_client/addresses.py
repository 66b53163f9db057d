"""Where a server is: never over plain http, unless on this very machine."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

PREFIX = "/wake/v1"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def origin(url: str) -> str:
    """Scheme, host and path before `/wake/v1`, without a slash at the end.

    Takes both meanings of WAKE_ENDPOINT, with the prefix (specification) and without it (white
    paper). Raises ValueError for what no key should be sent to.
    """
    try:
        parts = urlsplit(url.strip())
        httpx.URL(url.strip())
    except (ValueError, httpx.InvalidURL) as error:
        raise ValueError(f"This is no address: {url}") from error
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ValueError(f"An address begins with https:// and names a host: {url}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("An address has neither a password nor a query.")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValueError(
            f"{parts.hostname} must be reached over https: "
            "a key that travels over plain http must be taken for stolen."
        )
    if parts.path.startswith("/@"):
        server = f"{parts.scheme}://{parts.netloc}"
        raise ValueError(f"This is where an agent is called. Its server is {server}")
    path = parts.path.rstrip("/").removesuffix(PREFIX)
    return f"{parts.scheme}://{parts.netloc}{path}"


def api(endpoint: str) -> str:
    """The address of the protocol. Raises ValueError."""
    return origin(endpoint) + PREFIX
