"""Answers and frames contain a limited amount of a task's history."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import ApiKey
from relay.content import history
from relay.models import CallerKey, Card
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, after, ask


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    # No method takes the limit as an argument. With the real limit, every test would store and read
    # four million characters.
    monkeypatch.setattr(history, "LONGEST", 1_000)


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [message["parts"][0]["text"][:3] for message in messages]


def test_a_history_has_the_newest_messages_that_fit(either: Caller) -> None:
    task = either.send("1: " + "x" * 600)["id"]
    for number in (2, 3):
        sent = either.send(f"{number}: " + "x" * 400, taskId=task)

    assert texts(sent["history"]) == ["2: ", "3: "]


def test_the_newest_message_is_always_included(either: Caller) -> None:
    task = either.send("1: ")["id"]

    sent = either.send("2: " + "x" * 2_000, taskId=task)

    assert texts(sent["history"]) == ["2: "]


def test_metadata_of_a_message_counts_too(either: Caller) -> None:
    task = either.send("1: ", metadata={"note": "x" * 2_000})["id"]

    sent = either.send("2: ", taskId=task)

    assert texts(sent["history"]) == ["2: "]


def test_the_tasks_of_a_page_share_the_limit(newer: Caller) -> None:
    newer.send("1: " + "x" * 600)
    newer.send("2: " + "x" * 300)

    listed = newer.result("ListTasks", {})["tasks"]

    assert [texts(task.get("history", [])) for task in listed] == [["2: "], []]


def test_a_connector_gets_the_current_message_and_the_history_that_fits(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A caller may write any amount in a task, and its run still fits into a frame. A frame that is
    too long would be sent again and again, and later frames would never be sent."""
    connector = FakeConnector(key)
    task = ask(card, caller_key, "1: " + "x" * 600)
    connector.end(connector.run(), "auth_required", text="2: Who are you?")
    long = "3: " + "x" * 2_000
    ask(card, caller_key, long, task_id=str(task.pk), at=after(1))

    frame = connector.run(at=after(2))

    assert frame["message"]["parts"] == [{"type": "text", "text": long}]
    assert texts(frame["messages"]) == ["3: "]
