"""Gives a terminal the codes of a sign-in (RFC 8628, 3.1 and 3.2)."""

from __future__ import annotations

import secrets
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from accounts.limits.throttles import TooManyRequests, client_address
from accounts.oauth.device import terminals
from accounts.oauth.device.codes import new_user_code
from accounts.oauth.limits import count_device_codes
from accounts.oauth.protocol_errors import error, too_many
from database.clock import database_now


@csrf_exempt
@require_POST
def device_codes(request: HttpRequest) -> HttpResponse:
    """Answers our own command line only: other clients sign in by the consent page. The command
    line is public, and so has no secret and no row of its own that could be deleted, unlike the
    clients of django-oauth-toolkit's view."""
    if request.POST.get("client_id") != terminals.CLIENT_ID:
        return error("invalid_client", f"client_id must be {terminals.CLIENT_ID}.", status=401)
    if request.POST.get("scope", terminals.SCOPE) not in {"", terminals.SCOPE}:
        return error("invalid_scope", f"scope must be {terminals.SCOPE}.")
    try:
        count_device_codes(request)
    except TooManyRequests as refusal:
        return too_many(refusal.retry_after)
    user_code, device_code = new_user_code(), secrets.token_urlsafe(32)
    terminals.begin(
        user_code=user_code,
        device_code=device_code,
        machine=request.POST.get("machine", ""),
        proposed_id=request.POST.get("agent_id", ""),
        address=client_address(request),
        at=database_now(),
    )
    page = settings.WAKE_ORIGIN + reverse("connect-terminal")
    body = {
        "device_code": device_code,
        "user_code": user_code,
        "verification_uri": page,
        "verification_uri_complete": f"{page}?{urlencode({'code': user_code})}",
        "expires_in": int(terminals.EXPIRES_IN.total_seconds()),
        "interval": terminals.INTERVAL,
    }
    return JsonResponse(body, headers={"Cache-Control": "no-store"})
