"""A run belongs to one connector until its lease ends."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey
from relay.models import CallerKey, Card, Message, Run, Task
from relay.runs.queue import LEASE, MAX_ATTEMPTS, READ_AT_ONCE
from relay.tasks import lost_runs
from tests.relay.fake_connector import FakeConnector, Frame, after, ask, now

LAPSED = LEASE.total_seconds() + 1


def said_last(task: Task) -> str:
    message = now(task).status_message
    return "" if message is None else message.parts[0]["text"]


def test_a_returning_connector_leaves_runs_to_their_new_connector(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    lost, other = FakeConnector(key, machine="laptop"), FakeConnector(key, machine="studio")
    task = ask(card, caller_key)
    old = lost.run()
    lost_runs.expire_leases(at=after(LAPSED))
    other.send_frame("heartbeat", dispatch_ids=[], at=after(LAPSED))
    new = other.run(at=after(LAPSED))

    back = FakeConnector(
        key, at=after(70), **lost.said | {"last_dispatch_ids": [old["dispatch_id"]]}
    )

    (refused,) = back.end(old, "completed", text="From the lost one.", at=after(71))
    assert (refused["code"], refused["dispatch_id"]) == ("lease_lost", old["dispatch_id"])
    other.send_frame("heartbeat", dispatch_ids=[new["dispatch_id"]], at=after(75))
    assert lost_runs.expire_leases(at=after(LAPSED + 70)) == 0
    other.end(new, "completed", text="From the new one.", at=after(LAPSED + 70))
    assert said_last(task) == "From the new one."


@pytest.mark.parametrize("names_the_lease", [True, False])
def test_a_lease_belongs_to_the_connector_that_names_it(
    card: Card, caller_key: CallerKey, key: ApiKey, names_the_lease: bool
) -> None:
    """A restarted container has another name, and its old connection may look alive."""
    ask(card, caller_key)
    frame = FakeConnector(key, machine="7c1f").run()
    held: dict[str, Any] = {"last_dispatch_ids": [frame["dispatch_id"]]}
    if names_the_lease:
        held["last_lease_ids"] = [frame["lease_id"]]

    here = FakeConnector(key, at=after(5), machine="e90a", **held)

    run = Run.objects.get()
    assert (run.connector == here.row) is names_the_lease
    assert here.end(frame, "completed", at=after(6))[0]["type"] == "done"


def test_a_lease_that_another_connector_had_since_is_not_resumed(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """If the lease were resumed, the returning connector would renew it forever, although nothing
    is heard from the command."""
    lost = FakeConnector(key, machine="laptop")
    task = ask(card, caller_key)
    old = lost.run()
    lost_runs.expire_leases(at=after(LAPSED))
    FakeConnector(key, machine="studio", at=after(70)).run(at=after(70))
    held: dict[str, Any] = {"last_dispatch_ids": [old["dispatch_id"]]}
    held["last_lease_ids"] = [old["lease_id"]]

    back = FakeConnector(key, at=after(150), **lost.said | held)
    back.send_frame("heartbeat", dispatch_ids=[old["dispatch_id"]], at=after(151))
    lost_runs.expire_leases(at=after(152))
    again = back.run(at=after(153))

    assert again["attempt"] == 3
    back.end(again, "completed", at=after(154))
    assert now(task).state == Task.State.COMPLETED


def _hangs(connector: FakeConnector, frame: Frame, *, since: int, until: int) -> None:
    """Sends heartbeats without any report about the run."""
    for seconds in range(since, until, 30):
        connector.send_frame("heartbeat", dispatch_ids=[frame["dispatch_id"]], at=after(seconds))
        assert lost_runs.expire_leases(at=after(seconds)) == 0


def test_a_run_that_never_ends_is_retried_and_then_failed(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    card.timeout_seconds = 600
    card.save()
    task = ask(card, caller_key)
    connector = FakeConnector(key)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        start = (attempt - 1) * 1_000
        connector.send_frame("heartbeat", dispatch_ids=[], at=after(start))
        frame = connector.run(at=after(start))
        assert frame["attempt"] == attempt
        _hangs(connector, frame, since=start, until=start + 600 + 300)

        taken_back = [lost_runs.expire_leases(at=after(start + 901)) for _ in range(2)]
        assert taken_back == [1, 0]

    assert now(task).state == Task.State.FAILED
    assert said_last(task) == "The agent took too long, 3 times in a row."
    assert connector.end(frame, "completed", at=after(2_905))[0]["type"] == "done"


def test_a_late_result_is_accepted_under_the_next_lease(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A machine that was asleep for hours behaves like this when it wakes up."""
    task = ask(card, caller_key)
    connector = FakeConnector(key)
    frame = connector.run()
    connector.send_frame("heartbeat", dispatch_ids=[frame["dispatch_id"]], at=after(hours=5))
    assert lost_runs.expire_leases(at=after(hours=5)) == 1

    again = connector.run(at=after(hours=5))
    connector.send_frame(
        "heartbeat", dispatch_ids=[frame["dispatch_id"]], at=after(hours=5, minutes=1)
    )
    assert lost_runs.expire_leases(at=after(hours=5, minutes=1)) == 0
    connector.end(again, "completed", text="Done.", at=after(hours=5, minutes=1))

    assert said_last(task) == "Done."


def test_a_connector_that_sends_a_long_result_is_not_cut_off(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """Sending the result takes two minutes. Until the result has arrived, nothing else arrives from
    the connector, and the connector takes no new run."""
    connector = FakeConnector(key, capacity=2)
    task = ask(card, caller_key)
    frame = connector.run()
    ask(card, caller_key)

    for seconds in range(50, 120, 5):
        assert connector.look(at=after(seconds)) == []
        assert lost_runs.expire_leases(at=after(seconds)) == 0
    connector.end(frame, "completed", text="Long.", at=after(120))

    assert now(task).state == Task.State.COMPLETED
    assert [one["type"] for one in connector.look(at=after(121))] == ["task"]


def test_a_connector_that_is_silent_for_minutes_loses_its_runs(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    connector.run()

    connector.look(at=after(179))
    (error,) = connector.look(at=after(180))

    assert (error["code"], connector.session.closes) == ("silent", 4408)
    assert lost_runs.expire_leases(at=after(240)) == 1


def test_a_heartbeat_renews_only_the_runs_that_it_names(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    connector.run()

    for seconds in range(15, 61, 15):
        connector.send_frame("heartbeat", dispatch_ids=[], at=after(seconds))
        connector.look(at=after(seconds))

    assert lost_runs.expire_leases(at=after(61)) == 1


@pytest.mark.parametrize("what", ["message", "history", "decision"])
def test_a_task_without_its_encryption_key_delays_no_other(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any, what: str
) -> None:
    """The task is still there when its key is back."""
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-is-lost-by-tomorrow-morning"]
    settings.WAKE_ENCRYPT_CONTENT = what == "message"
    lost = ask(card, caller_key)
    settings.WAKE_ENCRYPT_CONTENT = True
    run = Run.objects.get()
    if what == "history":
        Message.objects.create(
            task=lost, context=lost.context, message_id="0", parts_json="[]", created_at=after()
        )
    if what == "decision":
        run.decision_json = '{"delivery_id": "7"}'
        run.save()
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-everything-else-is-stored-with"]
    task = ask(card, caller_key, at=after(1))
    connector = FakeConnector(key)

    assert [frame["taskId"] for frame in connector.look(at=after(2))] == [str(task.pk)]

    run.refresh_from_db(fields=["state", "attempts"])
    assert (run.state, run.attempts) == (Run.State.QUEUED, 0)


def test_many_tasks_without_their_encryption_key_delay_no_other(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any
) -> None:
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-is-lost-by-tomorrow-morning"]
    settings.WAKE_ENCRYPT_CONTENT = True
    for _ in range(READ_AT_ONCE + 1):
        ask(card, caller_key)
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-everything-else-is-stored-with"]
    tasks = [ask(card, caller_key, at=after(number)) for number in (1, 2)]
    connector = FakeConnector(key, capacity=3)

    frames = connector.look(at=after(3))

    assert [frame["taskId"] for frame in frames] == [str(task.pk) for task in tasks]


def test_a_lease_reads_only_as_many_runs_as_there_is_room_for(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A cursor over the whole queue used to make PostgreSQL copy the content of all queued
    messages."""
    connector = FakeConnector(key, capacity=1)
    for number in range(3):
        ask(card, caller_key, at=after(number))

    with CaptureQueriesContext(connection) as queries:
        frames = connector.look(at=after(3))

    assert len(frames) == 1
    runs = [query["sql"] for query in queries if 'FROM "relay_dispatch"' in query["sql"]]
    with_messages = [sql for sql in runs if '"relay_message"."parts_json"' in sql]
    # The first query reads the messages to check the runs, and the second reads them to lease the
    # runs.
    assert len(with_messages) == 2
    assert all(sql.endswith("LIMIT 1") for sql in with_messages)


def test_one_task_that_cannot_be_sent_delays_no_other(
    card: Card,
    caller_key: CallerKey,
    key: ApiKey,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, task = (ask(card, caller_key, at=after(number)) for number in range(2))
    broken.messages.update(parts_json="no json")
    connector = FakeConnector(key, capacity=2)

    frames = connector.look(at=after(2))

    assert [frame["taskId"] for frame in frames] == [str(task.pk)]
    assert str(broken.runs.get().pk) in caplog.text
    assert connector.session.closes is None


def test_a_full_connector_polls_without_a_lock(
    card: Card,
    caller_key: CallerKey,
    key: ApiKey,
    django_assert_num_queries: Any,
) -> None:
    """A lock twice a second would delay every transition of this agent's tasks."""
    connector = FakeConnector(key)
    for _ in range(2):
        ask(card, caller_key)
    connector.run()

    with django_assert_num_queries(3) as asked:
        assert connector.look(at=after(1)) == []

    assert all(query["sql"].startswith("SELECT") for query in asked.captured_queries)
    assert not any("FOR NO KEY UPDATE" in query["sql"] for query in asked.captured_queries)


# A process that was started again -----------------------------------------------------------------


def again(connector: FakeConnector, seconds: float, **said: Any) -> FakeConnector:
    """Returns the next process with the same journal."""
    return FakeConnector(
        connector.session.key, at=after(seconds), **connector.said | {"first": True} | said
    )


def test_a_killed_connector_resumes_its_run_at_once(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    killed = FakeConnector(key)
    task = ask(card, caller_key)
    first = killed.run(at=after(1))

    started = again(killed, 2)
    is_waiting = now(task).state
    second = started.run(at=after(3))

    assert is_waiting == Task.State.SUBMITTED
    assert second["dispatch_id"] == first["dispatch_id"]
    assert second["attempt"] == 2


def test_a_run_whose_result_it_still_has_is_not_taken_back(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    killed = FakeConnector(key)
    task = ask(card, caller_key)
    run = killed.run(at=after(1))
    names = {"last_dispatch_ids": [run["dispatch_id"]], "last_lease_ids": [run["lease_id"]]}

    started = again(killed, 2, **names)

    assert started.look(at=after(3)) == []
    started.end(run, "completed", at=after(4))
    assert now(task).state == Task.State.COMPLETED


def test_a_run_that_kills_its_connector_three_times_fails(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    for attempt in range(1, 4):
        assert connector.run(at=after(attempt))["attempt"] == attempt
        connector = again(connector, attempt + 0.5)

    assert now(task).state == Task.State.FAILED


def test_a_lost_connection_takes_no_run_back(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    connector.run(at=after(1))

    again(connector, 2, first=False)

    assert now(task).state == Task.State.WORKING


def test_a_restarted_connector_replaces_an_older_one_of_the_same_name(
    card: Card, key: ApiKey
) -> None:
    first = FakeConnector(key, machine="mill")
    FakeConnector(key, at=after(1), machine="mill")

    assert again(first, 2).welcome["type"] == "welcome"


def test_the_next_key_of_an_agent_resumes_the_runs_of_the_last(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    run = connector.run(at=after(1))
    next_key, _ = keys.mint(card.agent, by=SYSTEM)
    keys.revoke(key, by=SYSTEM, at=after(2))
    closed = connector.look(at=after(3))
    lost_runs.expire_leases(at=after(120))
    names = {"last_dispatch_ids": [run["dispatch_id"]], "last_lease_ids": [run["lease_id"]]}

    started = FakeConnector(next_key, at=after(130), **connector.said | {"first": True} | names)
    answer_frames = started.end(run, "completed", at=after(131))

    assert [frame["code"] for frame in closed] == ["unauthorized"]
    assert answer_frames == [{"type": "done", "dispatch_id": run["dispatch_id"]}]
    assert started.look(at=after(132)) == []
    assert now(task).state == Task.State.COMPLETED
