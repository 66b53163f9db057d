"""Builds the details of deliveries that show pictures and files."""

from __future__ import annotations

import base64
from typing import Any


def page(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"wake_blocks": 1, "blocks": list(blocks)}


def inline(content: bytes, alt: str = "A gradient", **more: Any) -> dict[str, Any]:
    return {"type": "image", "data": base64.b64encode(content).decode(), "alt": alt, **more}


def image(blob_id: str, alt: str = "A gradient", **more: Any) -> dict[str, Any]:
    return {"type": "image", "blob": blob_id, "alt": alt, **more}


def file(blob_id: str, name: str = "report.pdf") -> dict[str, Any]:
    return {"type": "file", "blob": blob_id, "name": name}
