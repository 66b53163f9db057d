"""Reads the version of A2A that a request names (1.0, 3.6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from django.http import HttpRequest

Version = Literal["0.3", "1.0"]
VERSIONS: Mapping[str, Version] = {"1.0": "1.0", "0.3": "0.3"}
VERSION = re.compile(r"(\d{1,3}\.\d{1,3})(?:\.\d{1,6})?", re.ASCII)


def asked_for(request: HttpRequest) -> str:
    """Returns the version that the request names in its header or in the query, or an empty text if
    it names none."""
    return (request.headers.get("A2A-Version") or request.GET.get("A2A-Version") or "").strip()


def read(text: str) -> Version | None:
    """Returns the version, or None if it is unknown. The patch number is ignored."""
    match = VERSION.fullmatch(text)
    return VERSIONS.get(match[1]) if match else None
