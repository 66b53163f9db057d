"""Provides the callback of an answered delivery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts.agents.signing_secrets import secrets_of
from accounts.models import Agent, User
from tests.types import Answer, MakeDelivery
from tests.wake.callbacks.receiver import Receiver
from wake.models import Callback


@pytest.fixture
def secret(agent: Agent) -> str:
    return secrets_of(agent.pk)[0]


@pytest.fixture
def answered(
    receiver: Receiver,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> Callable[..., Callback]:
    """Creates a due callback of a delivery that Alice has answered."""

    def make(
        status: str = "approved", *, url: str = "", feedback: str = "", **fields: Any
    ) -> Callback:
        delivery = make_delivery(callback_webhook=url or receiver.url, **fields)
        return answer(delivery, status, feedback=feedback).callback

    return make


@pytest.fixture
def other_team_id(mallory: User) -> int:
    return mallory.memberships.get().team_id
