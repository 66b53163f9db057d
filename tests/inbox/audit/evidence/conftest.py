"""Provides a delivery with everything that an evidence export can have."""

from __future__ import annotations

import pytest

from accounts.models import ApiKey
from accounts.sign_in.browsers.sessions import Authentication
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from tests.wake.claims.test_claims import Question
from wake import outcomes
from wake.models import Delivery, Place, Sight


@pytest.fixture
def refund(caller: AgentClient, key: ApiKey, answer: Answer) -> Question:
    """Returns a delivery that Alice approved on its page. The approval was used, and the action
    failed."""
    question = Question(caller, headline="Refund EUR 180", details={"amount": 180})
    at = database_now()
    answer(
        question.pk,
        feedback="Only today.",
        sight=Sight(Place.PAGE, (), opened_at=at),
        signed_in=Authentication(("pwd", "otp"), at),
    )
    assert question.claim().status_code == 200
    outcomes.report(
        key, Delivery.objects.get(pk=question.pk).pk, status="failed", summary="declined", at=at
    )
    return question
