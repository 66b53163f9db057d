"""Walks a person's browser from Wake to the mock provider and back, and looks at the result."""

from __future__ import annotations

import re
import urllib.request
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from django.utils import timezone

from accounts.access import invitations
from accounts.models import AuditEvent, Team, User
from tests.fixtures.strict_client import Client

SECURITY = "/settings/security/"
CONNECT = "/settings/security/provider/connect"
DISCONNECT = "/settings/security/provider/disconnect"
REFRESH = re.compile(r'http-equiv="refresh" content="0; url=([^"]+)"')


class _Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def leave(client: Client, path: str = "/login/provider/", **form: Any) -> str:
    """Presses the button and returns the address at the provider."""
    page = client.post(path, form)
    assert page.status_code == 200, page.content
    found = REFRESH.search(page.content.decode())
    assert found
    return unescape(found[1])


def at_provider(address: str) -> str:
    """Opens the address as a browser that is signed in there, and returns the path back to Wake."""
    try:
        urllib.request.build_opener(_Unfollowed).open(address, timeout=10)
    except HTTPError as redirect:
        parts = urlsplit(redirect.headers["Location"])
        return f"{parts.path}?{parts.query}"
    raise AssertionError("The provider asked for something.")


def visit(client: Client, path: str = "/login/provider/", **form: Any) -> Any:
    """Goes to the provider, comes back and returns Wake's answer."""
    return client.get(at_provider(leave(client, path, **form)))


def is_signed_in(client: Client) -> bool:
    return client.get(SECURITY).status_code == 200


def events(*names: str) -> list[str]:
    found = AuditEvent.objects.order_by("pk").values_list("event", flat=True)
    return [event for event in found if not names or event.partition(".")[0] in names]


def age(client: Client, name: str, **by: float) -> None:
    session = client.session
    session[name] = (timezone.now() - timedelta(**by)).timestamp()
    session.save()


def invite(team: Team, by: User, email: str = "") -> str:
    _, text = invitations.invite(team, role="reviewer", by=by, at=timezone.now(), email=email)
    return text
