"""The task list returns a caller's own tasks in pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from relay.models import Artifact, Card, Task
from tests.relay.calling import Caller, State, move

T0 = datetime(2026, 11, 21, 9, tzinfo=UTC)


@pytest.fixture
def five(newer: Caller) -> list[str]:
    """Creates tasks of one context, newest first. Two of them have the same time."""
    ids = [newer.send(contextId="talk")["id"] for _ in range(5)]
    for minute, id in enumerate(ids):
        Task.objects.filter(pk=id).update(status_at=T0 + timedelta(minutes=max(minute, 1)))
    rows = Task.objects.order_by("-status_at", "-pk")
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def ids(listed: dict[str, Any]) -> list[str]:
    return [task["id"] for task in listed["tasks"]]


def test_all_on_one_page(five: list[str], newer: Caller) -> None:
    listed = newer.result("ListTasks", {})

    assert listed.keys() == {"tasks", "nextPageToken", "pageSize", "totalSize"}
    assert ids(listed) == five
    assert (listed["nextPageToken"], listed["pageSize"], listed["totalSize"]) == ("", 50, 5)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_page_after_page_until_the_token_is_empty(
    size: int, five: list[str], newer: Caller
) -> None:
    all_listed, token = [], ""
    for _ in range(6):
        page = newer.result("ListTasks", {"pageSize": size, "pageToken": token})
        all_listed.append(ids(page))
        assert (page["pageSize"], page["totalSize"]) == (size, 5)
        if not (token := page["nextPageToken"]):
            break

    assert all_listed == [five[at : at + size] for at in range(0, 5, size)]


def test_a_new_task_does_not_shift_the_pages(five: list[str], newer: Caller) -> None:
    first = newer.result("ListTasks", {"pageSize": 2})
    newer.send(contextId="talk")

    rest = newer.result("ListTasks", {"page_size": 3, "page_token": first["nextPageToken"]})

    assert ids(first) + ids(rest) == five


@pytest.mark.parametrize("name", ["TASK_STATE_COMPLETED", "completed"])
def test_by_state(name: str, five: list[str], newer: Caller) -> None:
    move(five[3], State.COMPLETED)

    listed = newer.result("ListTasks", {"status": name})
    rest = newer.result("ListTasks", {"status": "TASK_STATE_SUBMITTED", "pageSize": 1})

    assert (ids(listed), listed["totalSize"]) == ([five[3]], 1)
    assert rest["totalSize"] == 4


def test_by_context(five: list[str], newer: Caller) -> None:
    other = newer.send()

    listed = newer.result("ListTasks", {"contextId": other["contextId"]})

    assert ids(listed) == [other["id"]]
    assert ids(newer.result("ListTasks", {"contextId": "nobody's"})) == []


@pytest.mark.parametrize(
    "since", ["2026-11-21T09:03:00Z", "2026-11-21T09:03:00.000Z", "2026-11-21T10:03:00+01:00"]
)
def test_since_a_time_and_of_that_time(since: str, five: list[str], newer: Caller) -> None:
    listed = newer.result("ListTasks", {"statusTimestampAfter": since})

    assert ids(listed) == five[:2]


def test_with_artifacts_and_history_as_asked_for(newer: Caller) -> None:
    id = newer.send()["id"]
    tasks = {"artifact_id": "a-1", "parts_json": '[{"text": "# Ten"}]', "created_at": T0}
    Artifact.objects.create(task_id=id, **tasks)
    Task.objects.update(generation=2)  # an artifact comes with an event

    (bare,) = newer.result("ListTasks", {"historyLength": 0})["tasks"]
    (whole,) = newer.result("ListTasks", {"includeArtifacts": True})["tasks"]

    assert bare.keys() == {"id", "contextId", "status"}
    assert whole["artifacts"] == [{"artifactId": "a-1", "parts": [{"text": "# Ten"}]}]
    assert len(whole["history"]) == 1


def test_a_page_costs_as_many_queries_as_a_task(
    newer: Caller, django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        task = newer.send()["id"]
        move(task, State.INPUT_REQUIRED, "Which?")

    with django_assert_max_num_queries(8):
        listed = newer.result("ListTasks", {"includeArtifacts": True})

    assert {len(task["history"]) for task in listed["tasks"]} == {1}


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": -1},
        {"pageSize": True},
        {"pageSize": "10"},
        {"pageToken": "no token"},
        {"pageToken": "99999999999999999-0e2c7c1a4c9e4b0f9d690f3c5a9c1d11"},
        {"pageToken": 7},
        {"status": "done"},
        {"status": 3},
        {"statusTimestampAfter": "yesterday"},
        {"statusTimestampAfter": "0001-01-01T00:00:00+23:59"},
        {"includeArtifacts": "yes"},
        {"historyLength": -1},
        {"contextId": "x" * 129},
    ],
)
def test_an_invalid_list_request_is_refused(params: dict[str, Any], newer: Caller) -> None:
    error = newer.error("ListTasks", params)

    assert error["code"] == -32602
    (violation,) = error["data"][0]["fieldViolations"]
    assert violation["field"] in params


def test_without_a_key_a_list_needs_a_context(card: Card, newer: Caller) -> None:
    Card.objects.filter(pk=card.pk).update(access=Card.Access.PUBLIC)
    newer.send(contextId="talk")
    anybody = Caller(card)
    task = anybody.send()

    everything = anybody.error("ListTasks", {})
    mine = anybody.result("ListTasks", {"contextId": task["contextId"]})
    theirs = anybody.result("ListTasks", {"contextId": "talk"})

    assert everything["code"] == -32602
    assert ids(mine) == [task["id"]]
    assert (theirs["tasks"], theirs["totalSize"]) == ([], 0)


def test_a_task_with_the_same_id_of_another_caller_is_not_listed_either(card: Card) -> None:
    Card.objects.filter(pk=card.pk).update(access=Card.Access.PUBLIC)
    here, there = Caller(card), Caller(card)
    there.client.defaults["REMOTE_ADDR"] = "::1"
    task = here.send(contextId="talk")

    mine = here.result("ListTasks", {"contextId": "talk"})
    theirs = there.result("ListTasks", {"contextId": "talk"})

    assert ids(mine) == [task["id"]]
    assert (theirs["tasks"], theirs["totalSize"]) == ([], 0)
