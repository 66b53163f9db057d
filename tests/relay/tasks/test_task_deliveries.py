"""Events of a task appear as deliveries in the inbox."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey, User
from inbox.answering.editing.edits import Original
from inbox.rendering.details import render
from relay.models import CallerKey, Card, Message, Task, TaskDelivery
from relay.protocol.dialects import write_task
from relay.runs.queue import LEASE
from relay.tasks import lifecycle, lost_runs
from relay.tasks.blocks import REST
from relay.tasks.delivery_details import LONGEST_READ
from tests.inbox.person import Person, text_of
from tests.relay.fake_connector import FakeConnector, after, ask
from tests.types import Answer, MakeRule
from wake.models import AssignedPerson, Delivery, Response
from wake.responses import respond

REPORT = {"artifactId": "report", "name": "report.md", "parts": [{"text": "# Ten\n\nAll well."}]}


def newest() -> Delivery:
    """Returns the delivery that waits in the inbox."""
    return Delivery.objects.unanswered().get()


def titles(delivery: Delivery) -> list[str]:
    return [block.get("title", "") for block in delivery.details["blocks"]]


def test_a_question_of_an_agent_waits_in_the_inbox(end: Callable[..., Task]) -> None:
    task = end("input_required", text="Which market comes first?\n\nEurope is the larger one.")

    question = newest()
    assert question.type == Delivery.Type.QUESTION
    assert question.headline == "Which market comes first?"
    assert question.summary == "Europe is the larger one."
    assert question.thread == str(task.context_id)
    assert question.is_internal
    assert question.expires_at is None
    assert question.task_delivery.task == task
    assert question.task_delivery.generation == task.generation


def test_a_question_of_an_agent_is_assigned_by_a_rule(
    end: Callable[..., Task], make_rule: MakeRule, bob: User
) -> None:
    make_rule("Bo's", people=[bob], types=["question"], at=after())

    end("input_required", text="Which market comes first?")

    assigned = AssignedPerson.objects.get()
    assert (assigned.assignment_id, assigned.user) == (newest().pk, bob)


def test_a_task_says_how_many_people_have_approved(
    end: Callable[..., Task], make_rule: MakeRule, alice: User, bob: User
) -> None:
    make_rule(role="owner", needed=2, at=after(0.5))
    task = end("input_required", text="Which market comes first?")
    assert write_task(task, "1.0")["metadata"]["wakeQuorum"] == {"needed": 2, "have": 0}

    question = newest()
    respond(
        question, by=bob, status="approved", content_hash=question.content_hash, at=timezone.now()
    )

    assert write_task(task, "1.0")["metadata"]["wakeQuorum"] == {"needed": 2, "have": 1}


def test_a_task_that_asks_one_person_has_no_quorum(
    end: Callable[..., Task],
) -> None:
    task = end("input_required", text="Which market comes first?")

    assert "wakeQuorum" not in write_task(task, "1.0")["metadata"]


def test_details_have_the_message_then_artifacts_then_the_request(
    end: Callable[..., Task],
) -> None:
    end("input_required", "Write the notes of 2.4.", text="Shall I publish?", artifacts=[REPORT])

    question = newest()

    assert titles(question) == ["", "report.md", "Build server asked"]
    page = text_of(_Page(render(question.details_json)))
    assert page.index("Shall I publish?") < page.index("All well.") < page.index("Write the notes")


def test_a_person_edits_the_artifacts_and_not_the_transcript(end: Callable[..., Task]) -> None:
    end("input_required", text="Shall I publish?", artifacts=[REPORT])

    assert Original.of(newest()).json == json.dumps("# Ten\n\nAll well.")


@pytest.mark.parametrize(
    ("result", "proposal"),
    [
        ({"text": "Deploy 2.4 to production?"}, "Deploy 2.4 to production?"),
        (
            {"message": {"parts": [{"text": "So?"}, {"data": {"to": ["a@example.com"]}}]}},
            {"to": ["a@example.com"]},
        ),
        (
            {"text": "So?", "artifacts": [REPORT, {"artifactId": "b", "parts": [{"text": "B"}]}]},
            {"report.md": "# Ten\n\nAll well.", "b": "B"},
        ),
        ({"text": "So?", "artifacts": [{"parts": [{"raw": "aGFsbG8="}]}]}, "So?"),
        ({}, ""),
    ],
    ids=["words", "data", "two things", "a file", "nothing"],
)
def test_an_edit_starts_with_the_proposal(
    end: Callable[..., Task], result: dict[str, Any], proposal: Any
) -> None:
    end("input_required", **result)

    original = Original.of(newest())

    assert json.loads(original.json or "null") == proposal


def test_an_agent_may_ask_with_blocks_and_a_caller_may_not(
    end: Callable[..., Task], card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    choice = {"type": "choice", "options": [{"id": "A", "label": "One price"}]}
    page = {"wake_blocks": 1, "blocks": [choice]}
    task = end("input_required", message={"parts": [{"data": page}]})
    assert list(Original.of(newest()).controls) == ["choice"]

    forged = Message.objects.get(task=task, source=Message.Source.CALLER)
    forged.parts_json = json.dumps([{"data": page}])
    forged.save()
    ask(card, caller_key, "And?", task_id=str(task.pk), at=after(3))

    assert len(Original.of(newest()).controls) == 1
    lifecycle.cancel(task, by=SYSTEM, at=after(4))
    end("input_required", message={"parts": [{"text": "Well?"}]})
    assert not Original.of(newest()).controls


def test_progress_is_an_update_that_the_next_one_replaces(
    card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    ask(card, caller_key)
    frame = connector.run(at=after(1))
    for number, text in enumerate(["Read four of ten.", "Read nine of ten."], 1):
        of_run = {name: frame[name] for name in ("dispatch_id", "lease_id")}
        connector.send_frame("progress", at=after(1 + number), n=number, text=text, **of_run)

    assert (newest().type, newest().headline) == (
        Delivery.Type.UPDATE,
        "Read nine of ten.",
    )

    connector.end(frame, "completed", at=after(9), text="Done.")

    assert not Delivery.objects.unanswered().exists()


def test_artifacts_are_an_output_that_needs_no_answer(end: Callable[..., Task]) -> None:
    end("completed", text="Compared all ten.", artifacts=[REPORT])

    output = newest()

    assert output.type == Delivery.Type.OUTPUT
    assert output.headline == "Compared all ten."
    assert output.summary == "Build server asked: Compare the ten largest."
    assert output.needs_no_answer(after(3))


def test_a_text_result_makes_no_delivery(end: Callable[..., Task]) -> None:
    end("completed", text="It is ten past nine.")

    assert not Delivery.objects.exists()


def test_a_failure_is_an_alert(end: Callable[..., Task]) -> None:
    end("failed", text="The disk is full.")

    assert (newest().type, newest().headline) == (
        Delivery.Type.ALERT,
        "The disk is full.",
    )


def test_a_connector_that_stays_away_creates_an_alert(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    ask(card, caller_key)

    for minutes in (0, 5, 10):
        FakeConnector(key, at=after(minutes=minutes)).run(at=after(minutes=minutes))
        lost_runs.expire_leases(at=after(minutes=minutes) + LEASE)

    assert newest().type == Delivery.Type.ALERT
    assert newest().headline.startswith("The agent was offline")


def test_a_task_that_needs_credentials_gives_people_an_update(
    end: Callable[..., Task],
) -> None:
    end("auth_required")

    assert newest().type == Delivery.Type.UPDATE
    assert newest().headline == "Waiting for the caller to sign in"


def test_a_callers_message_is_shown_and_does_not_resume_the_task(
    end: Callable[..., Task], card: Card, caller_key: CallerKey, alices: Person
) -> None:
    task = end("input_required", text="Which market?", timeout_seconds=3600, assumption="Europe.")
    first = newest()

    ask(card, caller_key, "Asia, please. Approved!", task_id=str(task.pk), at=after(600))

    task.refresh_from_db()
    second = newest()
    assert task.state == Task.State.INPUT_REQUIRED
    assert second.supersedes == first
    assert "Build server has written since" in titles(second)
    assert second.headline == first.headline
    assert second.expires_at == first.expires_at
    assert second.assumption == "Europe."
    assert second.task_delivery.generation == task.generation
    assert not Response.objects.exists()
    assert "Asia, please. Approved!" in text_of(alices.see(second))


def test_turns_of_a_context_are_one_thread(
    end: Callable[..., Task],
    card: Card,
    caller_key: CallerKey,
    connector: FakeConnector,
    answer: Answer,
    alices: Person,
) -> None:
    task = end("input_required", text="Which market?")
    first = newest()
    answer(first, "approved", at=after(3))
    connector.end(connector.run(at=after(4)), "input_required", at=after(5), text="Which year?")
    second = newest()
    context_id = task.context.context_id
    other = ask(card, caller_key, "More.", context_id=context_id, at=after(6))
    connector.end(connector.run(at=after(7)), "input_required", at=after(8), text="How many?")

    third = TaskDelivery.objects.get(task=other).delivery
    assert second.supersedes == first
    assert third.supersedes is None
    assert {first.thread, second.thread, third.thread} == {str(task.context_id)}
    assert Delivery.objects.unanswered().count() == 2
    assert "Which market?" in text_of(alices.see(third))


def test_an_agent_sets_its_timeout_and_its_plan(end: Callable[..., Task]) -> None:
    end(
        "input_required",
        text="Which market?",
        timeout_seconds=900,
        assumption="I take Europe.",
        on_timeout="proceed",
    )

    question = newest()
    assert (question.timeout_seconds, question.on_timeout) == (900, "proceed")
    assert question.assumption == "I take Europe."


def test_an_agent_asks_for_several_people_and_says_what_cannot_be_undone(
    end: Callable[..., Task], card: Card, caller_key: CallerKey
) -> None:
    fields = {"priority": "high", "quorum": 3, "irreversible": True}
    task = end("input_required", text="Delete the branch?", **fields)
    first = newest()

    ask(card, caller_key, "The old one.", task_id=str(task.pk), at=after(6))

    for question in (first, newest()):
        assert {name: getattr(question, name) for name in fields} == fields
    assert newest().supersedes == first


@pytest.mark.parametrize(
    "invalid", [{"quorum": "2"}, {"quorum": 9}, {"irreversible": "yes"}], ids=str
)
def test_an_invalid_field_that_protects_people_fails_the_run(
    end: Callable[..., Task], invalid: dict[str, Any]
) -> None:
    task = end("input_required", text="Delete the branch?", **invalid)

    task.refresh_from_db()
    assert task.state == Task.State.FAILED
    assert task.status_message
    assert next(iter(invalid)) in str(task.status_message.parts)


@pytest.mark.parametrize(
    "text",
    ["\u202e" * 9, "#", "\x07", "```\ncode\n```", "a" * 5_000, "\u2028", "[" * 300_000],
    ids=["turned", "mark", "bell", "code", "long", "separator", "brackets"],
)
def test_any_text_of_an_agent_has_a_headline_on_one_line(
    end: Callable[..., Task], text: str
) -> None:
    end("input_required", text=text)

    question = newest()
    for name in ("headline", "summary"):
        field: Any = Delivery._meta.get_field(name)
        field.clean(getattr(question, name), question)


def test_a_long_conversation_fits_a_page(end: Callable[..., Task]) -> None:
    large = [{"artifactId": f"a{n}", "parts": [{"text": "word " * 40_000}]} for n in range(9)]

    end("input_required", "ask " * 50_000, text="Shall I?", artifacts=large)

    question = newest()
    details = render(question.details_json)
    assert details is not None
    assert not details.is_too_long
    assert "The rest is on the page of the task." in details.html
    assert Original.of(question).json == '"Shall I?"'


def test_long_turns_are_only_on_the_page_of_the_task(
    end: Callable[..., Task], card: Card, caller_key: CallerKey
) -> None:
    """Reading these texts used to take seconds, while the agent was locked."""
    task = end("input_required", text="Continue?", request="How? " * 10)
    long = "x" * (LONGEST_READ // 2)
    for seconds, text in enumerate(["Short.", long, long, "Also short."], 3):
        ask(card, caller_key, text, task_id=str(task.pk), at=after(seconds))

    texts = [block["text"] for block in newest().details["blocks"]]

    assert texts[1] == "Short."
    assert texts[2] == REST
    assert (texts[3][:3], texts[3].endswith(REST)) == ("xxx", True)
    assert texts[4:] == ["Also short.", "How? " * 10]


def test_a_request_that_is_too_long_is_only_on_the_page_of_the_task(
    end: Callable[..., Task],
) -> None:
    end("input_required", text="Continue?", request="x" * (LONGEST_READ + 1))

    question = newest()
    assert [block["text"] for block in question.details["blocks"]] == ["Continue?", REST]
    assert titles(question)[1] == "Build server asked"
    assert question.summary == "For Build server."


def test_a_paused_agents_running_task_can_end(
    card: Card, caller_key: CallerKey, connector: FakeConnector
) -> None:
    ask(card, caller_key)
    frame = connector.run(at=after(1))
    card.agent.paused_at = after(2)
    card.agent.save()

    connector.end(frame, "input_required", at=after(3), text="Which market?")

    assert newest().headline == "Which market?"


class _Page:
    """Has the content of a page, so that text_of() can read details."""

    def __init__(self, details: Any) -> None:
        self.content = str(details.html).encode()
