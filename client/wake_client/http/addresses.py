"""Checks the address of a server before a key is sent to it."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

PREFIX = "/wake/v1"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def origin(url: str) -> str:
    """Returns the scheme, the host and the path before `/wake/v1`, without a trailing slash.

    WAKE_ENDPOINT has the prefix in the specification, but not in the white paper; both work. Raises
    ValueError for an address that must not receive a key.
    """
    try:
        parts = urlsplit(url.strip())
        httpx.URL(url.strip())
    except (ValueError, httpx.InvalidURL) as error:
        raise ValueError(f"This is not a valid address: {url}") from error
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ValueError(f"An address begins with https:// and names a host: {url}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("An address contains no password, query or fragment.")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ValueError(
            f"{parts.hostname} must be reached over https: "
            "others on the network can read a key that is sent over plain http."
        )
    if parts.path.startswith("/@"):
        server = f"{parts.scheme}://{parts.netloc}"
        raise ValueError(f"This is the address for calling an agent. Its server is {server}")
    path = parts.path.rstrip("/").removesuffix(PREFIX)
    return f"{parts.scheme}://{parts.netloc}{path}"


def api(endpoint: str) -> str:
    """Returns the address of the protocol on this server. Raises ValueError as `origin` does."""
    return origin(endpoint) + PREFIX
