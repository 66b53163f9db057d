"""Lets requests take turns, so that a burst of one caller delays no other.

A request takes its turn when its whole body has arrived, and gives the turn back when its answer
begins (docs/decisions/0089-callers-take-turns.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from accounts.limits import throttles, turn_groups
from database import turns
from database.turns import NoTurn, Turn, Turns, TurnTaker
from wake.api.errors import RETRY_OUTAGE_AFTER, unavailable
from wake.server.http.body_limit import App, Message, Receive, Send, has_no_body, send_response
from wake.server.http.machine_errors import machine_error
from wake.server.http.machine_paths import is_machine_path

# These paths answer while requests wait for their turn.
HEALTH = ("/healthz", "/readyz")
SESSION = re.compile(rb"(?:^|;)\s*%b=([^;]+)" % settings.SESSION_COOKIE_NAME.encode())


class RequestTurns:
    """Wraps an ASGI application."""

    def __init__(self, app: App, *, number: int) -> None:
        self.app = app
        self.turns = Turns("request", number)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in HEALTH:
            await self.app(scope, receive, send)
            return
        turn = Turn(self.turns, caller_of(scope))
        answer = _AnswerWithTurn(turn, send)
        token = turns.current.set(turn)
        try:
            if has_no_body(scope):
                await turn.arrive()
            else:
                receive = _arriving_after_body(turn, receive)
            await self.app(scope, receive, answer.send)
        except NoTurn as failure:
            if answer.has_begun:
                raise
            await send_response(_refusal(scope["path"], failure), send)
        finally:
            turn.end()
            turns.current.reset(token)


class _AnswerWithTurn:
    """Gives the turn back when the answer begins, because a client may read it slowly."""

    def __init__(self, turn: Turn, send: Send) -> None:
        self.has_begun = False
        self._turn = turn
        self._send = send

    async def send(self, message: Message) -> None:
        if not self.has_begun:
            self.has_begun = True
            self._turn.give_back()
        await self._send(message)


def _arriving_after_body(turn: Turn, receive: Receive) -> Receive:
    """Waits for the turn when the body is complete. So a slow client holds no turn."""
    has_arrived = False

    async def receive_and_arrive() -> Message:
        nonlocal has_arrived
        message = await receive()
        is_last = message["type"] == "http.request" and not message.get("more_body", False)
        if is_last and not has_arrived:
            has_arrived = True
            await turn.arrive()
        return message

    return receive_and_arrive


def caller_of(scope: Mapping[str, Any]) -> TurnTaker:
    """Returns who sends this request. A machine has a key, and a browser a session."""
    headers = dict(scope["headers"])
    if is_machine_path(scope["path"]):
        credential = headers.get(b"authorization", b"")
    else:
        session = SESSION.search(headers.get(b"cookie", b""))
        credential = session[1] if session else b""
    return turn_groups.caller_of(credential, network=_network(scope, headers))


def _network(scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> str:
    """Returns the network of the peer, or of the client that the configured proxy header names."""
    if settings.WAKE_CLIENT_ADDRESS == "REMOTE_ADDR":
        address: str = (scope.get("client") or ("",))[0]
        return throttles.network_in(address)
    header = _name_in_asgi(settings.WAKE_CLIENT_ADDRESS)
    return throttles.network_in(headers.get(header, b"").decode("latin-1"))


@cache
def _name_in_asgi(name: str) -> bytes:
    """Returns b"x-forwarded-for" for HTTP_X_FORWARDED_FOR, as WSGI names this header."""
    return name.removeprefix("HTTP_").replace("_", "-").lower().encode()


def _refusal(path: str, failure: NoTurn) -> HttpResponse:
    if is_machine_path(path):
        response = machine_error(path, 503, "unavailable", unavailable(failure))
    else:
        response = HttpResponse(_busy_page(), status=503)
        response["Cache-Control"] = "no-store"
    response["Retry-After"] = str(RETRY_OUTAGE_AFTER)
    return response


@cache
def _busy_page() -> bytes:
    """Returns the page of a busy server. A flood may ask for it often, so it is rendered once."""
    return render(None, "500.html", {"will_pass": True}).content
