"""Provides an agent with a public card, and tasks with push configs."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent
from relay.cards import publishing
from relay.models import Card, Task
from relay.protocol.dialects import Incoming, PushIn
from relay.tasks import pushes, sending
from tests.relay.tasks.pushes.pushing import (
    Sent,
)


@pytest.fixture
def card(agent: Agent) -> Card:
    return publishing.publish(agent, by=SYSTEM, at=timezone.now(), access=Card.Access.PUBLIC)


@pytest.fixture
def sent(card: Card) -> Sent:
    """Creates a waiting task with these push configs."""

    def send(*configs: PushIn) -> Task:
        incoming = Incoming(message_id="m-1", parts=[{"text": "Review it"}])
        task = sending.send(card, None, incoming, at=timezone.now())
        for config in configs:
            pushes.create(task, config, at=timezone.now())
        return task

    return send
