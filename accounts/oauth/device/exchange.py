"""Answers a terminal that asks whether a person has decided (RFC 8628, 3.4 and 3.5)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.models import ApiKey
from accounts.oauth.device import terminals
from accounts.oauth.protocol_errors import error
from database.clock import database_now


def answer(request: HttpRequest) -> HttpResponse:
    """Returns the key once, or the error of the sign-in."""
    if request.POST.get("client_id") != terminals.CLIENT_ID:
        return error("invalid_client", f"client_id must be {terminals.CLIENT_ID}.", status=401)
    device_code = request.POST.get("device_code")
    if not device_code:
        return error("invalid_request", "device_code is missing.")
    now = database_now()
    outcome = terminals.exchange(device_code, at=now)
    if isinstance(outcome, terminals.IssuedKey):
        return _issued(outcome)
    response = JsonResponse(dict(outcome.twotuples), status=outcome.status_code)
    response["Cache-Control"] = "no-store"
    return response


def _issued(outcome: terminals.IssuedKey) -> HttpResponse:
    key: ApiKey = outcome.key
    body: dict[str, Any] = {
        "access_token": outcome.text,
        "token_type": "Bearer",
        "scope": terminals.SCOPE,
        "agent_id": key.agent.agent_id,
        "team": key.agent.team.slug,
        "endpoint": settings.WAKE_ORIGIN,
    }
    if key.expires_at is not None:
        body["expires_in"] = int((key.expires_at - key.created_at).total_seconds())
    return JsonResponse(body, headers={"Cache-Control": "no-store", "Pragma": "no-cache"})
