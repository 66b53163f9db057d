"""People are asked about a call again after a withdrawal, or when its arguments change. Only the
last question about the arguments counts, and none is lost. The server is real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.client.adapters.conftest import REFUND, Line, refund
from tests.client.adapters.test_approvals import Start, asked, runs
from wake.models import Claim, Delivery
from wake_client import Unavailable
from wake_client.adapters import NotRun, Verdict

pytestmark = pytest.mark.django_db


def test_a_question_that_is_asked_again_while_its_run_goes_on_is_not_lost(
    started: Start, answer: Callable[..., Any], client: Any
) -> None:
    client.withdraw(str(asked(started).pk))

    started().resume_answered("Testing", lambda run: started().ask_about(refund()))

    answer(Delivery.objects.get(withdrawn_at=None))
    (run,) = started().answered()
    assert run.verdicts == {"call-1": Verdict("allow")}


def test_a_process_that_reads_a_withdrawal_late_denies_no_new_question(
    started: Start, client: Any, line: Line
) -> None:
    first, late = asked(started), started()
    client.withdraw(str(first.pk))

    def asks_again() -> None:
        started().verdict(refund())
        started().ask_about(refund())

    line.meanwhile = asks_again
    verdict = late.verdict(refund())

    assert verdict is not None
    assert verdict.withdrawn
    assert started().verdict(refund()) is None
    assert Delivery.objects.filter(withdrawn_at=None).count() == 1


def test_arguments_that_change_back_are_asked_about_again(
    started: Start, answer: Callable[..., Any]
) -> None:
    first, changed = asked(started), refund(order="A-1042", cents=1)
    started().ask_about(changed)

    started().ask_about(refund())

    (open_question,) = Delivery.objects.filter(withdrawn_at=None)
    assert (open_question != first, open_question.details["proposal"]) == (True, REFUND)
    answer(open_question)
    (run,) = started().answered()
    assert run.verdicts == {"call-1": Verdict("allow")}
    with pytest.raises(NotRun):
        runs(started(), changed)
    assert runs(started()) == ["refunded"]


def test_arguments_that_change_back_to_answered_ones_have_that_answer(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started), "rejected", feedback="No.")
    started().verdict(refund())
    started().ask_about(refund(order="A-1042", cents=1))

    started().ask_about(refund())

    (run,) = started().answered()
    assert run.verdicts == {"call-1": Verdict("deny", "No.")}


def test_a_replaced_question_is_withdrawn_when_the_server_is_back(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    first, changed = asked(started), refund(order="A-1042", cents=1)
    line.is_cut = True
    with pytest.raises(Unavailable):
        started().ask_about(changed)
    line.is_cut = False

    started().ask_about(changed)

    first.refresh_from_db()
    assert first.withdrawn_at is not None
    answer(Delivery.objects.get(withdrawn_at=None))
    (run,) = started().answered()
    assert run.verdicts == {"call-1": Verdict("allow")}


def test_the_last_answer_about_the_arguments_of_an_edit_counts(
    started: Start, answer: Callable[..., Any]
) -> None:
    edited = refund(order="A-1042", cents=9_000)
    answer(asked(started), "redirected", edited_json='{"order": "A-1042", "cents": 9000}')
    started().verdict(refund())
    started().ask_about(edited)
    with pytest.raises(NotRun, match="No person has answered"):
        runs(started(), edited)
    answer(Delivery.objects.latest("created_at"), "rejected", feedback="Not today.")
    started().verdict(edited)

    with pytest.raises(NotRun, match="Not today"):
        runs(started(), edited)

    assert not Claim.objects.exists()
