"""A framework that runs its tools by itself uses an approval before, and reports after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.client.adapters.conftest import refund
from wake.models import Claim, Delivery, Outcome
from wake_client.adapters import Approvals, NotRun

pytestmark = pytest.mark.django_db
Start = Callable[..., Approvals]


@pytest.fixture(autouse=True)
def without_hold(settings: Any) -> None:
    settings.WAKE_HOLD_SECONDS = 0


def asked(started: Start) -> Delivery:
    started().ask_about(refund())
    return Delivery.objects.get()


def test_a_begun_call_is_used_once_and_another_process_reports_its_end(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started))
    started().verdict(refund())

    started().begin(refund())
    with pytest.raises(NotRun, match="may have run"):
        started().begin(refund())
    started().end(refund(order="A-1042", cents=18_000, added="later"))
    started().end(refund(), OSError("Too late."))

    assert Claim.objects.count() == 1
    assert [each.status for each in Outcome.objects.all()] == ["done"]
    with pytest.raises(NotRun, match="made before"):
        started().begin(refund())


def test_a_call_that_was_not_begun_has_no_end(started: Start, answer: Callable[..., Any]) -> None:
    answer(asked(started))
    started().verdict(refund())

    started().end(refund(), OSError("It did not run."))

    assert not Outcome.objects.exists()
    started().begin(refund())
    started().end(refund(), OSError("The bank is closed."))
    assert Outcome.objects.get().summary == "OSError: The bank is closed."


def test_a_run_that_went_on_is_not_resumed(started: Start, answer: Callable[..., Any]) -> None:
    answer(asked(started))
    assert started().wait(refund()) is not None

    started().went_on(refund())

    assert started().answered() == []
    started().begin(refund())
