"""Serves the card as a resource. The page is the same for every delivery, and has no data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wake.mcp.cards.clients import MIME_TYPE

URI = "ui://wake/question"
METHODS = {"resources/list", "resources/templates/list", "resources/read"}
PAGE = Path(__file__).with_name("card.html").read_text()
# The page loads nothing and connects to nothing.
META: dict[str, Any] = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True},
}
LISTED: dict[str, Any] = {
    "uri": URI,
    "name": "question",
    "title": "Question",
    "description": "Shows a question to people and its state.",
    "mimeType": MIME_TYPE,
    "_meta": META,
}


def run(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the result of one of METHODS, or None for an unknown resource."""
    match method:
        case "resources/list":
            return {"resources": [LISTED]}
        case "resources/templates/list":
            return {"resourceTemplates": []}
    if params.get("uri") != URI:
        return None
    return {"contents": [{"uri": URI, "mimeType": MIME_TYPE, "text": PAGE, "_meta": META}]}


def of_tool(*, has_card: bool) -> dict[str, Any]:
    """Returns the `_meta` of a tool in the list. Only models may call the tools, not the card."""
    ui = {"resourceUri": URI} if has_card else {}
    return {"ui": {**ui, "visibility": ["model"]}}
