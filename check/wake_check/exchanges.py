"""Keeps one request and its answer, and prints both so that another person can repeat them."""

from __future__ import annotations

import base64
import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

KEY = re.compile(r"\bwk_([a-z]+)_[A-Za-z0-9_\-]+|\bwhsec_[A-Za-z0-9+/=]+")
MAX_SHOWN = 4_000  # characters of a body
LEFT_OUT = {"accept", "accept-encoding", "connection", "user-agent", "host", "content-length"}


@dataclass
class Exchange:
    method: str
    url: str
    headers: dict[str, str]
    content: bytes
    key_variable: str  # the environment variable that has the key, or empty
    status: int = 0  # 0 without an answer
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""
    error: str = ""  # why there is no answer
    key: str = field(default="", repr=False)

    @property
    def json(self) -> Any:
        """Returns the body of the answer, or None if it is not JSON."""
        try:
            return json.loads(self.answer)
        except ValueError:
            return None

    @property
    def members(self) -> dict[str, Any]:
        """Returns the body of the answer, or an empty object if it is no JSON object."""
        value = self.json
        return value if isinstance(value, dict) else {}

    @property
    def is_json(self) -> bool:
        return self.answer_headers.get("content-type", "").startswith("application/json")

    @property
    def request_text(self) -> str:
        first = f"{self.method} {self.url}"
        return self._masked(_message(first, self._request_headers(), self.content))

    @property
    def answer_text(self) -> str:
        if not self.status:
            return self._masked(self.error)
        return self._masked(_message(str(self.status), self.answer_headers, self.answer))

    @property
    def curl(self) -> str:
        """Returns a command that sends the request again. The key comes from the environment."""
        return self._masked(self._command())

    def _command(self) -> str:
        words = ["curl", "-i"]
        if self.method != ("POST" if self.content else "GET"):
            words += ["-X", self.method]
        words.append(shlex.quote(self.url))
        for name, value in self._request_headers().items():
            if name == "authorization" and self.key_variable:
                words.append(f'-H "Authorization: Bearer ${self.key_variable}"')
            else:
                words.append("-H " + shlex.quote(f"{name}: {value}"))
        if not self.content:
            return " ".join(words)
        text = _text(self.content)
        if text is None or len(text) > MAX_SHOWN:
            encoded = base64.b64encode(self.content[:MAX_SHOWN]).decode()
            left_out = len(self.content) - MAX_SHOWN
            note = f"  # {left_out} more bytes are left out here" if left_out > 0 else ""
            return f"echo {encoded} | base64 -d | {' '.join(words)} --data-binary @-{note}"
        return " ".join([*words, "--data-binary", shlex.quote(text)])

    def _masked(self, text: str) -> str:
        """Hides keys. The key of this request may look different from the keys that are known."""
        text = masked(text)
        return text.replace(self.key, "...") if self.key else text

    def _request_headers(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name not in LEFT_OUT}


def masked(text: str) -> str:
    """Hides keys and signing secrets. Only their kind stays."""
    return KEY.sub(lambda found: f"wk_{found[1]}_..." if found[1] else "whsec_...", text)


def _message(first: str, headers: dict[str, str], body: bytes) -> str:
    text = _text(body)
    shown = f"({len(body)} bytes)" if text is None else text
    if len(shown) > MAX_SHOWN:
        shown = f"{shown[:MAX_SHOWN]}... ({len(shown)} characters)"
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    return "\n".join([*lines, *(["", shown] if shown else [])])


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
