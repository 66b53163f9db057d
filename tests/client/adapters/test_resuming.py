"""A run goes on when all its calls are answered, and goes on once. The server is real."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.client.adapters.conftest import Died, Line, refund
from tests.client.adapters.test_approvals import Start, asked
from wake.models import Delivery
from wake_client import Unavailable
from wake_client.adapters import Verdict, verdicts

pytestmark = pytest.mark.django_db


def test_a_run_goes_on_when_all_its_calls_are_answered(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    approvals = started()
    for call in (refund("a"), refund("b"), refund("c", thread="run-2")):
        approvals.ask_about(call)
    one, two, three = Delivery.objects.order_by("created_at")
    answer(three, "rejected")
    answer(one)

    assert [run.thread for run in started().answered()] == ["run-2"]
    answer(two)
    line.verbs.clear()
    by_thread = {run.thread: run.verdicts for run in started().answered()}

    assert by_thread == {
        "run-1": {"a": Verdict("allow"), "b": Verdict("allow")},
        "run-2": {"c": Verdict("deny", verdicts.REJECTED)},
    }
    assert line.verbs == ["responses"]


def test_a_process_that_dies_while_it_resumes_leaves_the_run(
    started: Start, answer: Callable[..., Any]
) -> None:
    started().save("Testing", "run-1", "the state")
    answer(asked(started))

    def dies(run: Any) -> None:
        raise Died

    with pytest.raises(Died):
        started().resume_answered("Testing", dies)
    seen: list[Any] = []
    started().resume_answered("Testing", seen.append)
    assert [run.state for run in seen] == ["the state"]
    assert started().resume_answered("Testing", seen.append) == []
    assert started().answered() == []


def test_a_run_that_fails_keeps_no_other_run_from_going_on(
    started: Start, answer: Callable[..., Any]
) -> None:
    for thread in ("run-1", "run-2"):
        started().ask_about(refund(thread=thread))
    for delivery in Delivery.objects.all():
        answer(delivery)
    seen: list[str] = []

    def fails_first(run: Any) -> None:
        seen.append(run.thread)
        if run.thread == "run-1":
            raise ValueError

    with pytest.raises(ExceptionGroup) as raised:
        started().resume_answered("Testing", fails_first)

    assert [type(each) for each in raised.value.exceptions] == [ValueError]
    assert seen == ["run-1", "run-2"]
    assert [run.thread for run in started().answered()] == ["run-1"]


def test_two_processes_resume_no_run_at_the_same_time(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started))
    seen: list[Any] = []

    started().resume_answered(
        "Testing", lambda run: seen.append(started().resume_answered("Testing", seen.append))
    )

    assert seen == [[]]


def test_an_answer_that_comes_before_the_id_is_stored_is_found(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    """The answer is older than the place where the other calls' sweep went on."""
    started().ask_about(refund("a", thread="run-1"))
    first, second = Delivery.objects.get(), refund("b", thread="run-2")
    line.dies_after = "deliver"
    with pytest.raises(Died):
        started().ask_about(second)
    line.dies_after = None
    answer(Delivery.objects.exclude(pk=first.pk).get())
    answer(first)
    assert [run.thread for run in started().answered()] == ["run-1"]

    started().ask_about(second)

    assert Delivery.objects.count() == 2
    assert [run.thread for run in started().answered()] == ["run-1", "run-2"]


def test_an_answer_that_is_older_than_another_question_is_found(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started))

    started().ask_about(refund(thread="run-2"))

    assert [run.thread for run in started().answered()] == ["run-1"]


def test_a_saved_run_that_no_one_was_asked_about_is_found(started: Start, line: Line) -> None:
    line.is_cut = True
    for thread in ("run-1", "run-2"):
        started().save("Testing", thread, f"state of {thread}")
    with pytest.raises(Unavailable):
        started().ask_about(refund())
    line.is_cut = False
    assert set(started().unasked("Testing")) == {"run-1", "run-2"}

    assert started().verdicts([refund(), refund("call-2")]) is None

    assert started().unasked("Testing") == {"run-2": "state of run-2"}
    assert started().unasked("Other") == {}
    assert Delivery.objects.count() == 2


def test_the_verdicts_of_a_pause_are_complete_or_none(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    calls = [refund("a"), refund("b")]
    assert started().verdicts(calls) is None
    one, two = Delivery.objects.order_by("created_at")
    answer(one)
    started().answered()
    assert started().verdicts(calls) is None
    answer(two, "rejected", feedback="No.")
    started().answered()
    line.verbs.clear()

    assert started().verdicts(calls) == {"a": Verdict("allow"), "b": Verdict("deny", "No.")}
    assert line.verbs == []
