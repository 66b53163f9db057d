"""A question of a task has its digest, and the end of the task is its outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.models import AuditEvent
from relay.models import CallerKey, Card, Task
from relay.protocol.dialects import Json, write_task
from relay.protocol.versions import Version
from relay.streams import reading
from relay.tasks import lifecycle, unanswered
from tests.inbox.person import Person, text_of
from tests.relay.fake_connector import FakeConnector, after, ask, now
from tests.types import Answer
from wake.models import Delivery, Outcome
from wake.proof.digest import content_digest

State = Task.State


@pytest.fixture
def task(card: Card, caller_key: CallerKey) -> Task:
    return ask(card, caller_key, "Refund order 4711.")


@pytest.fixture
def stop(connector: FakeConnector) -> Callable[..., None]:
    """Runs the command, which stops in this state."""

    def run(state: str, *, seconds: float = 1, **result: Any) -> None:
        frame = connector.run(at=after(seconds))
        connector.end(frame, state, at=after(seconds), **result)

    return run


def question() -> Delivery:
    return Delivery.objects.filter(type=Delivery.Type.QUESTION).latest("created_at")


def digest_of(task: Task, version: Version = "1.0") -> Json | None:
    digest: Json | None = write_task(now(task), version).get("metadata", {}).get("wakeDigest")
    return digest


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_task_that_asks_has_the_digest_and_the_nonce(
    version: Version, task: Task, stop: Callable[..., None], answer: Answer
) -> None:
    before = digest_of(task, version)
    stop("input_required", text="Refund EUR 180?")
    row = question()

    asking = digest_of(task, version)
    answer(row, "approved", at=after(3))

    assert before is None
    assert asking == {"digest": row.content_hash, "nonce": row.nonce}
    assert content_digest(row, files=[]) == row.content_hash
    assert digest_of(task, version) is None


def streamed(task: Task, version: Version) -> list[Json]:
    """Returns the metadata of each event that a stream sends from the beginning of the task."""
    batch = reading.events_after(task.pk, 0, version, "req-1", ends=Task.TERMINAL)
    results = [json.loads(chunk.partition(b"data: ")[2])["result"] for chunk in batch.chunks]
    changes = [next(iter(each.values())) if version == "1.0" else each for each in results]
    return [change["metadata"] for change in changes]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_the_streamed_event_has_the_same_digest_until_the_question_is_answered(
    version: Version, task: Task, stop: Callable[..., None], answer: Answer
) -> None:
    stop("input_required", text="Refund EUR 180?")
    *earlier, asking = streamed(task, version)
    polled = digest_of(task, version)
    answer(question(), "approved", at=after(3))
    later = streamed(task, version)

    assert polled is not None
    assert asking["wakeDigest"] == polled
    assert not any("wakeDigest" in each for each in [*earlier, *later])


def test_the_agent_gets_both_with_the_decision(
    task: Task, stop: Callable[..., None], answer: Answer, connector: FakeConnector
) -> None:
    stop("input_required", text="Refund EUR 180?", assumption="I refund it.", timeout_seconds=60)
    row = question()
    answer(row, "approved", at=after(3))

    (frame,) = connector.look(at=after(4))

    assert (frame["decision"]["digest"], frame["decision"]["nonce"]) == (
        row.content_hash,
        row.nonce,
    )


def test_a_caller_gets_no_nonce_to_guess_an_assumption_with(
    task: Task, stop: Callable[..., None]
) -> None:
    stop("input_required", text="Refund EUR 180?", assumption="I refund it.", timeout_seconds=60)

    assert digest_of(task) == {"digest": question().content_hash}


def test_a_caller_gets_no_nonce_to_guess_the_words_of_a_person_with(
    task: Task, stop: Callable[..., None], answer: Answer
) -> None:
    stop("input_required", text="Refund EUR 180?")
    answer(question(), "redirected", feedback="Only 90.", at=after(3))
    stop("input_required", text="Refund EUR 90?", seconds=4)

    row = question()
    assert "Only 90." in str(row.details)
    assert digest_of(task) == {"digest": row.content_hash}


@pytest.mark.parametrize(
    ("state", "status"), [("completed", "done"), ("failed", "failed"), ("rejected", "skipped")]
)
def test_the_end_of_the_task_is_the_outcome_of_its_question(
    state: str, status: str, task: Task, stop: Callable[..., None], answer: Answer, bobs: Person
) -> None:
    stop("input_required", text="Refund EUR 180?")
    answer(question(), "approved", at=after(3))
    stop(state, seconds=4, text="Refund re_3F.\n\nSee the ledger.")

    outcome = Outcome.objects.get()
    assert outcome.delivery == question()
    assert (outcome.status, outcome.summary) == (status, "Refund re_3F. See the ledger.")
    assert outcome.reported_at == after(4)
    assert "Refund re_3F. See the ledger." in text_of(bobs.see(question()))
    event = AuditEvent.objects.get(event="delivery.outcome")
    assert (event.actor_kind, event.detail["status"]) == ("agent", status)


def test_a_task_that_its_caller_cancels_is_skipped(task: Task, stop: Callable[..., None]) -> None:
    stop("input_required", text="Refund EUR 180?")

    lifecycle.cancel(task, by=Actor("caller", name="CI"), at=after(3))

    outcome = Outcome.objects.get()
    assert (outcome.delivery, outcome.status, outcome.summary) == (question(), "skipped", "")
    assert AuditEvent.objects.get(event="delivery.outcome").actor_name == "Wake"


def test_a_task_that_a_person_rejects_is_skipped(
    task: Task, stop: Callable[..., None], answer: Answer
) -> None:
    stop("input_required", text="Refund EUR 180?")

    answer(question(), "rejected", feedback="Never.", at=after(3))

    outcome = Outcome.objects.get()
    assert (outcome.status, outcome.summary) == ("skipped", lifecycle.DECLINED)


def test_a_task_that_stops_unanswered_has_failed(task: Task, stop: Callable[..., None]) -> None:
    stop("input_required", text="Refund EUR 180?", timeout_seconds=60, on_timeout="abort")

    unanswered.continue_unanswered(at=after(62))

    outcome = Outcome.objects.get()
    assert (outcome.status, outcome.summary) == ("failed", unanswered.STOPPED)


def test_the_newest_question_has_the_outcome(
    task: Task, stop: Callable[..., None], answer: Answer
) -> None:
    stop("input_required", text="Refund EUR 180?")
    first = question()
    answer(first, "approved", at=after(3))
    stop("input_required", seconds=4, text="Also the postage?")
    second = question()
    answer(second, "approved", at=after(5))
    stop("completed", seconds=6, text="Both are refunded.")

    assert second != first
    assert Outcome.objects.get().delivery == second


def test_a_long_message_is_cut_to_one_line(
    task: Task, stop: Callable[..., None], answer: Answer
) -> None:
    stop("input_required", text="Refund EUR 180?")
    answer(question(), "approved", at=after(3))
    stop("completed", seconds=4, text="Refunded\n" * 500)

    summary = Outcome.objects.get().summary
    assert len(summary) <= 280
    assert summary.endswith("…")
    assert "\n" not in summary


def test_a_task_that_never_asked_has_no_outcome(task: Task, stop: Callable[..., None]) -> None:
    stop("completed", text="Refunded.")

    assert now(task).state == State.COMPLETED
    assert not Outcome.objects.exists()
