"""Provides channels that reach a real server, and runs both jobs at any instant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest

from accounts.models import Team, User
from inbox.models import Channel, ChannelEvent, NotificationRule
from inbox.notifications.channels import recording, sending
from inbox.notifications.channels.digests import next_digest_of
from inbox.notifications.channels.kinds import webhook
from tests.wake.callbacks.receiver import Receiver

MakeChannel = Callable[..., Channel]
ALL = [
    event
    for event in ChannelEvent
    if event not in {ChannelEvent.DIGEST, ChannelEvent.CODE, ChannelEvent.TEST}
]


@pytest.fixture
def inbox_of_chat(start_receiver: Callable[..., Receiver]) -> Receiver:
    """Starts the server to which channels send."""
    return start_receiver()


@pytest.fixture
def make_channel(inbox_of_chat: Receiver) -> MakeChannel:
    """Adds a verified channel of a person or a team without the pages. The channel sends events
    since `at`."""

    def make(
        owner: User | Team,
        *,
        at: datetime,
        events: Sequence[ChannelEvent] = ALL,
        path: str = "hook",
        **fields: Any,
    ) -> Channel:
        rule = {name: fields.pop(name) for name in ("agents", "only_assigned") if name in fields}
        channel = Channel.objects.create(
            **({"user": owner} if isinstance(owner, User) else {"team": owner}),
            **{
                "kind": "webhook",
                "name": "My webhook",
                "address": f"http://127.0.0.1:{inbox_of_chat.port}/{path}",
                "secret": webhook.new_secret(),
                "created_at": at,
                "verified_at": at,
                **fields,
            },
        )
        row = NotificationRule.objects.create(
            channel=channel, events=list(events), since=at, **rule
        )
        row.next_digest_at = next_digest_of(row, after=at)
        row.save()
        return channel

    return make


def work(at: datetime) -> int:
    """Runs both jobs once and returns how many messages arrived."""
    recording.record_new(at=at)
    return sending.send_due(clock=lambda: at)
