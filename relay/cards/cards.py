"""Writes the card of an agent as JSON. By default the card is for A2A 1.0 and 0.3 at the same time.
Clients of each version read their members and ignore the others (docs/a2a.md, The card)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from relay.models import Card

PATH = "/.well-known/agent-card.json"
SCHEME = "bearer"
KEPT_FOR = 60  # seconds for which caches keep a card


def published_at(handle: str, name: str) -> Card | None:
    """Returns the published card at `/@handle/name`, with its agent and team."""
    return Card.objects.at(handle, name).first()


def path_of(card: Card) -> str:
    """Returns the path of an agent. An id that does not fit a path is not published
    (relay/cards/publishing.py)."""
    return f"/{card}"


def address_of(card: Card, origin: str = "") -> str:
    """Returns the URL for calls to the agent. At this URL, a browser finds the agent's public
    page."""
    return f"{origin or settings.WAKE_ORIGIN}{path_of(card)}"


def base_url_of(card: Card) -> str:
    """Returns the URL to give to people. The URL ends with a slash, because the JavaScript SDK
    resolves the card's path against it, and would otherwise drop the last part of the URL."""
    return f"{address_of(card)}/"


def origin_for(request: HttpRequest) -> str:
    """Returns WAKE_ORIGIN in production, regardless of the request's host. In development, returns
    the origin of the request, which may be localhost, a container or a forwarded port."""
    if settings.DEVELOPMENT:
        return f"{request.scheme}://{request.get_host()}"
    return str(settings.WAKE_ORIGIN)


def body_of(card: Card, origin: str = "", version: str = "") -> bytes:
    return json.dumps(write(card, origin, version), ensure_ascii=False).encode()


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def write(card: Card, origin: str = "", version: str = "") -> dict[str, Any]:
    """Returns the public card. The card says whether callers need a key, but not who the callers
    are. If `version` names a version that the agent speaks, the card has no members of the other
    version."""
    team, origin = card.agent.team, origin or settings.WAKE_ORIGIN
    address = address_of(card, origin)
    versions = versions_of(card)
    versions = [version] if version in versions else versions
    is_1_0, is_0_3 = "1.0" in versions, "0.3" in versions
    return {
        "name": str(card),
        "description": description_of(card),
        "version": card.version,
        "provider": {"organization": team.name, "url": origin},
        "documentationUrl": address,
        **(_interfaces_1_0(versions, address) if is_1_0 else {}),
        **(_interfaces_0_3(address) if is_0_3 else {}),
        # The card must not mention an extended card: some readers take the name alone as a promise.
        "capabilities": {"streaming": True, "pushNotifications": True},
        "defaultInputModes": card.input_modes,
        "defaultOutputModes": card.output_modes,
        "skills": skills_of(card),
        **(_security(is_1_0=is_1_0, is_0_3=is_0_3) if card.access != Card.Access.PUBLIC else {}),
    }


def versions_of(card: Card) -> list[str]:
    """Returns the versions of A2A that the agent speaks, in order of preference."""
    return ["1.0", "0.3"] if card.profile == Card.Profile.BOTH else [card.profile]


def description_of(card: Card) -> str:
    """Returns the description, or a sentence instead, because both versions require a
    description."""
    return card.description or f"{card.agent.agent_id}, an agent of {card.agent.team.name}."


def skills_of(card: Card) -> list[dict[str, Any]]:
    """Returns the skills. 1.0 requires at least one, so a card without any describes the agent in
    general."""
    general = {
        "id": card.agent.agent_id,
        "name": card.agent.agent_id,
        "description": description_of(card),
        "tags": ["general"],
    }
    return card.skills or [general]


def _interfaces_1_0(versions: Iterable[str], address: str) -> dict[str, Any]:
    """Lists the interfaces in order of preference. The list includes 0.3, for clients of 1.0 that
    speak both versions."""
    return {
        "supportedInterfaces": [
            {"url": address, "protocolBinding": "JSONRPC", "protocolVersion": version}
            for version in versions
        ]
    }


def _interfaces_0_3(address: str) -> dict[str, Any]:
    return {
        "protocolVersion": "0.3.0",
        "url": address,
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": address, "transport": "JSONRPC"}],
        "supportsAuthenticatedExtendedCard": False,
    }


def _security(*, is_1_0: bool, is_0_3: bool) -> dict[str, Any]:
    """Describes one scheme in the forms of both versions, which share the name
    `securitySchemes`."""
    scheme: dict[str, Any] = {}
    members: dict[str, Any] = {"securitySchemes": {SCHEME: scheme}}
    if is_0_3:
        scheme |= {"type": "http", "scheme": SCHEME}
        members["security"] = [{SCHEME: []}]
    if is_1_0:
        scheme["httpAuthSecurityScheme"] = {"scheme": SCHEME}
        members["securityRequirements"] = [{"schemes": {SCHEME: {"list": []}}}]
    return members
