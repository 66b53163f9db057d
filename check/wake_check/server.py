"""Sends requests to the server that is judged."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass
from typing import Any

import httpx

from wake_check.exchanges import Exchange
from wake_check.verdicts import Broken

OWN, OTHER, TEST = "WAKE_API_KEY", "WAKE_CHECK_OTHER_KEY", "WAKE_CHECK_TEST_KEY"
TIMEOUT_SECONDS = 30.0
PREFIX = "/wake/v1"


@dataclass(frozen=True)
class Keys:
    """The keys, by the environment variable from which each one comes."""

    texts: dict[str, str]

    def __getitem__(self, variable: str) -> str:
        return self.texts.get(variable, "")


class Server:
    def __init__(self, url: str, keys: Keys, *, ca_file: str = "") -> None:
        """`ca_file` has the certificates to trust instead of the usual ones."""
        self.origin = url.rstrip("/").removesuffix(PREFIX)
        self.keys = keys
        self._http = httpx.Client(
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            trust_env=False,  # a proxy or a .netrc would change what the server gets
            verify=ssl.create_default_context(cafile=ca_file) if ca_file else True,
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, *, key: str = OWN, **query: Any) -> Exchange:
        return self.send("GET", path, key=key, query=query)

    def post(self, path: str, body: Any = b"", *, key: str = OWN, **headers: str) -> Exchange:
        """Sends bytes as they are, and other bodies as JSON."""
        named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.send(
            "POST",
            path,
            key=key,
            content=body,
            headers={"content-type": "application/json"} | named,
        )

    def send(
        self,
        method: str,
        path: str,
        *,
        key: str = OWN,
        content: bytes = b"",
        headers: dict[str, str] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Exchange:
        """Sends one request. `path` is below /wake/v1, or is a whole path or URL. Raises Broken if
        no answer comes."""
        headers = dict(headers or {})
        if key:
            headers["authorization"] = f"Bearer {self.keys[key]}"
        request = self._http.build_request(
            method, self._url(path), params=query or None, content=content, headers=headers
        )
        exchange = Exchange(method, str(request.url), dict(request.headers), content, key)
        exchange.key = self.keys[key]
        try:
            answer = self._http.send(request)
        except httpx.HTTPError as error:
            exchange.error = f"No answer: {type(error).__name__} {error}".strip()
            raise Broken("The request got no answer.", exchange) from None
        exchange.status = answer.status_code
        exchange.answer_headers = dict(answer.headers)
        exchange.answer = answer.content
        return exchange

    def _url(self, path: str) -> str:
        if "://" in path:
            return path
        if path.startswith("/"):
            return f"{self.origin}{path}"
        return f"{self.origin}{PREFIX}/{path}" if path else f"{self.origin}{PREFIX}"
