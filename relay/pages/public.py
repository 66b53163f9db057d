"""Shows a page about an agent to people who open its address. The page needs no session and shows
only the facts of the public card."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from csp.constants import NONE, SELF
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from relay.cards import cards
from relay.models import Card

POLICY = "; ".join(
    f"{directive} {source}"
    for directive, source in {
        "default-src": NONE,
        "style-src": SELF,
        "img-src": SELF,
        "base-uri": NONE,
        "form-action": NONE,
        "frame-ancestors": NONE,
    }.items()
)
ASKED = {
    Card.Profile.V1_0: {
        "method": "SendMessage",
        "params": {
            "message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
        },
    },
    Card.Profile.V0_3: {
        "method": "message/send",
        "params": {
            "message": {
                "messageId": "1",
                "role": "user",
                "parts": [{"kind": "text", "text": "Hello"}],
            }
        },
    },
}


def public_page(request: HttpRequest, handle: str, name: str) -> HttpResponse:
    card = Card.objects.at(handle, name).first()
    if card is None:
        response = render(request, "relay/public/no_agent.html", status=HTTPStatus.NOT_FOUND)
    else:
        response = render(request, "relay/public/agent.html", _about(card))
        response["Cache-Control"] = f"public, max-age={cards.KEPT_FOR}"
        response["Vary"] = "Accept"  # clients that do not accept HTML are asked to POST
    response["Content-Security-Policy"] = POLICY
    return response


def _about(card: Card) -> dict[str, Any]:
    return {
        "card": card,
        "card_path": cards.path_of(card) + cards.PATH,
        "description": cards.description_of(card),
        "skills": cards.skills_of(card),
        "needs_key": card.access != Card.Access.PUBLIC,
        "calls": [
            (version, _curl(card, version, body))
            for version, body in ASKED.items()
            if card.profile in {version, Card.Profile.BOTH}
        ],
    }


def _curl(card: Card, version: str, body: dict[str, Any]) -> str:
    """Returns an example call. A call in 0.3 has no version header, because 0.3 is the default."""
    headers = ["Content-Type: application/json"]
    if version == Card.Profile.V1_0:
        headers.append("A2A-Version: 1.0")
    if card.access != Card.Access.PUBLIC:
        headers.append("Authorization: Bearer $WAKE_CALLER_KEY")
    text = json.dumps({"jsonrpc": "2.0", "id": 1, **body})
    return " \\\n  ".join(
        [f"curl {cards.base_url_of(card)}", *(f'-H "{each}"' for each in headers), f"-d '{text}'"]
    )
