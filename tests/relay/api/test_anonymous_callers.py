"""Requests of anonymous callers are limited in size, rate and waiting tasks."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey
from relay.api import calls, limits, views
from relay.models import CallerKey, Card, Context, Message, Task
from relay.runs import queue as run_queue
from relay.tasks import lifecycle, sending
from tests.fixtures import wrapped
from tests.fixtures.occupied import occupied
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, ask
from tests.relay.many import queue_runs

State = Task.State


@pytest.fixture
def public(card: Card) -> Card:
    card.access = Card.Access.PUBLIC
    card.save(update_fields=["access"])
    return card


@pytest.fixture
def here(public: Card) -> Caller:
    return Caller(public)


@pytest.fixture
def there(public: Card) -> Caller:
    """Returns an anonymous caller of another network."""
    caller = Caller(public)
    caller.client.defaults["REMOTE_ADDR"] = "::1"
    return caller


def leave_bytes(count: int) -> None:
    """Counts so many bytes for the network of `here` that it may send only `count` more."""
    limits.count_bytes("127.0.0.1", limits.ANONYMOUS_BYTES - count)


def completed(task_id: str, text: str) -> dict[str, Any]:
    """Returns an event of another server's task."""
    artifact = {"artifactId": "report", "parts": [{"text": text}]}
    status = {"state": "TASK_STATE_COMPLETED"}
    return {"task": {"id": task_id, "status": status, "artifacts": [artifact]}}


def test_anonymous_callers_leave_capacity_for_others(card: Card, caller_key: CallerKey) -> None:
    of_network, of_all = run_queue.MAX_OF_A_NETWORK, run_queue.MAX_OF_ANONYMOUS
    queue_runs(ask(card, None, network="192.0.2.1"), of_network - 2)
    ask(card, None, network="192.0.2.1")

    with pytest.raises(sending.AgentBusy):
        ask(card, None, network="192.0.2.1")
    queue_runs(ask(card, None, network="192.0.2.2"), of_all - of_network - 2)
    ask(card, None, network="192.0.2.4")
    with pytest.raises(sending.AgentBusy):
        ask(card, None, network="192.0.2.3")

    assert [ask(card, caller_key, network="192.0.2.1").network for _ in range(4)] == [""] * 4


def test_tasks_that_wait_for_anonymous_callers_take_no_extra_capacity(
    card: Card, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, None, network="192.0.2.1")
    connector.end(connector.run(), "auth_required", text="Who are you?")
    queue_runs(ask(card, None, network="192.0.2.1"), run_queue.MAX_OF_A_NETWORK - 1)

    with pytest.raises(sending.AgentBusy):
        ask(card, None, task_id=str(task.pk))

    assert Task.objects.get(pk=task.pk).state == State.AUTH_REQUIRED
    assert task.messages.count() == 2


def test_the_body_of_a_refused_caller_is_not_read(card: Card, newer: Caller) -> None:
    long = "x" * 65_537

    with wrapped.counted(views, "_read") as read:
        refused = Caller(card).post(long)
        answered = newer.post(long)

    assert refused.status_code == 401
    assert answered.json()["error"]["code"] == -32700
    assert len(read) == 1


# How much they send -------------------------------------------------------------------------------


def test_a_network_without_a_key_sends_so_many_bytes_an_hour(
    here: Caller, there: Caller, newer: Caller
) -> None:
    long = "x" * 5_000
    leave_bytes(10_000)
    task = here.send(long)

    body = {"jsonrpc": "2.0", "id": "req-1", "method": "SendMessage", "params": here.sending(long)}
    refused = here.post(body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, -32603)
    assert refused.json()["id"] == "req-1"
    assert 0 < int(refused["Retry-After"]) <= 3_600
    assert Task.objects.count() == 1
    assert here.result("GetTask", {"id": task["id"]})["id"] == task["id"], "What is there is read."
    assert there.send(long)["id"]
    assert [newer.send(long) for _ in range(3)]


def test_pushed_events_count_towards_the_byte_limit_too(here: Caller) -> None:
    leave_bytes(10_000)

    answers = [here.post(completed(str(number), "x" * 4_000)) for number in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2]["Retry-After"]) > 0
    assert Task.objects.count() == 2


def test_a_long_body_is_counted_before_it_is_parsed_and_only_once(
    here: Caller, newer: Caller
) -> None:
    """Ten megabytes of brackets keep the parser busy for seconds."""
    leave_bytes(150_000)
    brackets = b"[" + b"[]," * 25_000 + b"[]]"

    with wrapped.counted(views, "parse_strictly") as parsed:
        answers = [here.post(brackets) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 429, 429]
    assert int(answers[1]["Retry-After"]) > 0
    assert len(parsed) == 1
    assert newer.send("x" * 70_000)["id"], "Callers with a key are not counted."


def test_a_long_message_counts_once(here: Caller) -> None:
    leave_bytes(150_000)

    assert [here.send("x" * 70_000)["id"] for _ in range(2)]
    assert Task.objects.count() == 2


def test_few_long_tasks_are_written_at_a_time(
    here: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty simultaneous answers of nine megabytes used to take three gigabytes of memory."""
    text = "x" * calls.LONG_TASK
    short, long = here.send(), here.send(text)
    monkeypatch.setattr(calls, "ROOM_SECONDS", 1)  # no argument can set this
    get = {"jsonrpc": "2.0", "id": "req-1", "method": "GetTask", "params": {"id": long["id"]}}

    with occupied(calls._room):
        refused = here.post(get)
        assert here.result("GetTask", {"id": short["id"]})["id"] == short["id"]
        assert here.send(text)["id"], "What is stored is not refused."

    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    for _ in range(2):  # frees its place
        assert here.result("GetTask", {"id": long["id"]})["id"] == long["id"]


# Contexts and callers -----------------------------------------------------------------------------


def test_a_context_of_a_caller_with_a_key_is_not_shared(newer: Caller, here: Caller) -> None:
    for task in (newer.send(contextId="quarter"), newer.send()):
        mine = here.send(contextId=task["contextId"])
        assert mine["contextId"] == task["contextId"]
        listed = here.result("ListTasks", {"contextId": task["contextId"]})
        assert [each["id"] for each in listed["tasks"]] == [mine["id"]]
        for method in ("GetTask", "CancelTask"):
            assert here.error(method, {"id": task["id"]})["code"] == -32001
        shared = Context.objects.filter(tasks__in=[task["id"], mine["id"]]).distinct()
        assert shared.count() == 2


def test_an_id_that_another_network_uses_is_refused(here: Caller, there: Caller) -> None:
    first = here.send(contextId="quarter")

    refused = there.error("SendMessage", there.sending(contextId="quarter"))
    again = here.send(contextId="quarter")

    assert (refused["code"], Task.objects.count()) == (-32602, 2)
    (violation,) = refused["data"][0]["fieldViolations"]
    assert violation["field"] == "message.contextId"
    assert "Nothing was stored" in violation["description"]
    assert again["contextId"] == first["contextId"]


def test_an_unguessable_id_works_from_any_network(here: Caller, there: Caller) -> None:
    """A person continues from another network later."""
    first = here.send()

    second = there.send(contextId=first["contextId"])

    contexts = Task.objects.filter(pk__in=[first["id"], second["id"]]).values_list("context")
    assert contexts.distinct().count() == 1


def test_a_guessed_short_id_reveals_no_task(here: Caller, there: Caller) -> None:
    mine, again, theirs = (
        caller.post(completed("1", "All checks passed")).json()["taskId"]
        for caller in (here, here, there)
    )

    assert mine == again
    assert mine != theirs
    words = Message.objects.filter(task=theirs).values_list("parts_json", flat=True)
    assert "All checks passed" in words.get()


@pytest.mark.parametrize("without_key", [True, False])
def test_an_anonymous_caller_cannot_take_a_link_of_a_caller_with_a_key(
    without_key: bool, newer: Caller, other_caller: Caller, here: Caller
) -> None:
    first = newer.post(completed("1", "All checks passed")).json()["taskId"]

    other = (here if without_key else other_caller).post(completed("1", "Wire the money")).json()

    assert other["taskId"] != first
    assert Message.objects.filter(task=first).count() == 1


def test_a_reference_to_another_callers_task_reveals_nothing(newer: Caller, here: Caller) -> None:
    """The reference is a word that is stored and returned, whether such a task exists or not."""
    secret = newer.send("The word is saffron.")
    named = [secret["id"], secret["id"][:8], "no-task"]

    task = here.send("What is the word?", referenceTaskIds=named)

    (message,) = task["history"]
    assert message["referenceTaskIds"] == named
    assert task["contextId"] != secret["contextId"]
    assert "saffron" not in str(here.result("GetTask", {"id": task["id"]}))
    for text in named:
        assert here.error("GetTask", {"id": text})["code"] == -32001
        assert here.error("SendMessage", here.sending(taskId=text))["code"] == -32001


def test_an_agent_gets_only_the_id_of_a_reference(
    public: Card, newer: Caller, here: Caller, key: ApiKey
) -> None:
    secret = newer.send("The word is saffron.")
    lifecycle.cancel(Task.objects.get(pk=secret["id"]), by=SYSTEM, at=timezone.now())
    here.send("What is the word?", referenceTaskIds=[secret["id"]])

    frame = FakeConnector(key, at=timezone.now()).run(at=timezone.now())

    assert "What is the word?" in str(frame)
    assert "saffron" not in str(frame)
