"""Serves connectors that cannot open a WebSocket: the same conversation over long polls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any, cast

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from accounts.agents.topics import topic_of
from accounts.limits.read_limits import count_read
from accounts.limits.throttles import client_address
from accounts.models import ApiKey
from database.clock import database_now
from relay.connector import session as connect
from relay.connector.session import ConnectorSession
from wake.api import errors
from wake.api.authentication import key_of
from wake.api.long_poll import long_poll
from wake.api.parsers import BodyTooLarge
from wake.api.views import ProtocolView

MAX_WAIT = 25
# In one request. The official connector sends more frames in several requests.
MAX_FRAMES = 1_000
STATUSES = {
    connect.KEY_REFUSED: 401,
    connect.OTHER_AGENT: 403,
    connect.OTHER_PROTOCOL: 400,
    connect.SILENT: 409,
    connect.REPLACED: 409,
}


class FramesParser(BaseParser):
    """Reads `{"frames": [...]}`. The session parses each frame strictly."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, list[str]]:
        """Returns each frame as JSON text; raises BodyTooLarge, ParseError."""
        body = stream.read(settings.WAKE_MAX_A2A_BYTES + 1)
        if len(body) > settings.WAKE_MAX_A2A_BYTES:
            raise BodyTooLarge(BodyTooLarge.__doc__)
        try:
            frames = json.loads(body)["frames"]
            if isinstance(frames, list) and len(frames) <= MAX_FRAMES:
                return {"frames": [json.dumps(frame) for frame in frames]}
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise ParseError(f'The body must be {{"frames": [...]}}, with up to {MAX_FRAMES:,}.')


class AgentView(ProtocolView):
    """Returns the agent of a connector's key before the connector opens its journal. The journal
    belongs to the agent, and the key may have been rotated."""

    http_method_names = ["get"]

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        key = key_of(request)
        count_read(key.pk)
        agent = key.agent
        return HttpResponse(
            json.dumps({"agent": agent.agent_id, "id": str(agent.pk)}, ensure_ascii=False),
            content_type="application/json",
            headers={"Cache-Control": "no-store"},
        )


class PollView(ProtocolView):
    """Answers frames immediately, or waits up to `wait` seconds for frames to send. A connector may
    send other requests while one waits."""

    http_method_names = ["post"]
    parser_classes = [FramesParser]

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponse:
        key, seconds = key_of(request), _wait(request.GET.get("wait", "0"))
        if "Origin" in request.headers:
            return errors.plain_error(403, "forbidden", "Browsers cannot use this endpoint.")
        if key.mode != ApiKey.Mode.LIVE:
            raise AuthenticationFailed
        session = ConnectorSession(key, transport="poll", address=client_address(request))
        session.find(request.headers.get("X-Wake-Instance", ""), at=database_now())
        texts = cast(dict[str, list[str]], request.data).get("frames", ())  # the body may be empty
        frames = [frame for text in texts for frame in session.read(text, at=database_now())]
        if session.connector is None and session.closes is None:
            session.closes = connect.REPLACED  # also if the connector never sent hello
        frames += long_poll(
            lambda: session.look(at=database_now()),
            seconds=0 if frames else seconds,
            until=lambda frames: bool(frames or session.closes),
            topic=topic_of(key.agent_id),
        )
        return HttpResponse(
            json.dumps({"frames": frames}, ensure_ascii=False),
            status=STATUSES[session.closes] if session.closes else 200,
            content_type="application/json",
            headers={"Cache-Control": "no-store"},
        )


def _wait(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ParseError("wait must be a whole number of seconds.")
    return min(int(text[:9]), MAX_WAIT)
