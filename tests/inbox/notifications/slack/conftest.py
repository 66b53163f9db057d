"""Plays Slack on a real socket: receives the posts of Wake, and signs the presses of people."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlencode

import pytest

from accounts.models import User
from database.clock import database_now
from inbox.models import Channel, NotificationRule
from inbox.notifications.slack import replies
from tests.fixtures.strict_client import Client
from tests.inbox.notifications.channels.conftest import ALL, work
from tests.types import MakeDelivery
from tests.wake.callbacks.receiver import Receiver
from wake.models import Delivery

SECRET, TOKEN, WORKSPACE, MEMBER = "8f742231b10e8888abcd", "xoxb-1", "T0HOME", "U0BOB1234"


MINUTE = timedelta(minutes=1)
# Slack's answer repeats the message, and is longer than the part of an answer that Wake keeps.
POSTED = json.dumps({"ok": True, "message": "x" * 9_000}, separators=(",", ":"))


def answering(body: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body.encode())

    return answer


@dataclass
class Slack:
    """Signs as Slack does (docs.slack.dev, Verifying requests from Slack)."""

    api: Receiver
    client: Client = field(default_factory=lambda: Client(sends_tokens=False))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.api.port}"

    @property
    def last(self) -> Any:
        return self.api.received[-1].json

    def press(
        self,
        action_id: str,
        *,
        of: Any = None,
        by: str = MEMBER,
        workspace: str = WORKSPACE,
        **request: Any,
    ) -> int:
        """Presses a button of a message, by default of the last one."""
        (button,) = (each for each in buttons(of or self.last) if each["action_id"] == action_id)
        payload = {
            "type": "block_actions",
            "user": {"id": by, "username": "x", "team_id": workspace},
            "team": {"id": WORKSPACE, "domain": "home"},
            "actions": [{"type": "button", **button}],
            "response_url": f"{self.url}/actions/1",
        }
        return self.send(urlencode({"payload": json.dumps(payload)}).encode(), **request)

    def send(self, body: bytes, *, secret: str = SECRET, at: datetime | None = None) -> int:
        timestamp = str(int((at or database_now()).timestamp()))
        base = f"v0:{timestamp}:{body.decode()}".encode()
        digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
        self.sent = (
            body,
            {
                "X-Slack-Request-Timestamp": timestamp,
                "X-Slack-Signature": f"v0={digest}",
            },
        )
        return self.send_again()

    def send_again(self) -> int:
        body, headers = self.sent
        kind = "application/x-www-form-urlencoded"
        answer = self.client.post("/slack/interactions", body, content_type=kind, headers=headers)
        return answer.status_code


def buttons(message: Any) -> list[Any]:
    found = [block["elements"] for block in message["blocks"] if block["type"] == "actions"]
    return [button for elements in found for button in elements]


def ids_of(message: Any) -> list[str]:
    return [button["action_id"] for button in buttons(message)]


def words_of(message: Any) -> str:
    return str(message["blocks"][0]["text"]["text"])


def update(at: datetime | None = None) -> int:
    return replies.send_due(clock=lambda: at or database_now())


def connect(start_receiver: Callable[..., Receiver], settings: Any) -> Slack:
    """Starts a double of Slack, and configures this server for the double."""
    double = Slack(start_receiver())
    settings.WAKE_SLACK_BOT_TOKEN = TOKEN
    settings.WAKE_SLACK_SIGNING_SECRET = SECRET
    settings.WAKE_SLACK_WORKSPACE = WORKSPACE
    settings.WAKE_SLACK_API_URL = f"{double.url}/api"
    settings.WAKE_NOTIFICATION_HOSTS = {f"127.0.0.1:{double.api.port}"}
    return double


@pytest.fixture
def slack(start_receiver: Callable[..., Receiver], settings: Any) -> Slack:
    return connect(start_receiver, settings)


@pytest.fixture
def linked(bob: User, slack: Slack) -> Channel:
    at = database_now() - timedelta(hours=1)
    channel = Channel.objects.create(
        user=bob, kind="slack_app", name="Slack", address=MEMBER, created_at=at, verified_at=at
    )
    NotificationRule.objects.create(channel=channel, events=list(ALL), since=at)
    return channel


@pytest.fixture
def notify_bob(
    slack: Slack, linked: Channel, make_delivery: MakeDelivery
) -> Callable[..., Delivery]:
    """Makes a delivery, and reports the delivery to Bob in Slack."""

    def make(**fields: Any) -> Delivery:
        fields = {"type": "question", "headline": "Ship 2.4?", **fields}
        delivery: Delivery = make_delivery(at=database_now() - 2 * MINUTE, **fields)
        slack.api.behaviours.append(answering(POSTED))
        assert work(database_now()) == 1
        return delivery

    return make
