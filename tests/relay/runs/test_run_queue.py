"""Each run is on one connector at a time. No run is lost, and no run waits forever."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey
from database.encryption import Unreadable
from relay.models import CallerKey, Card, Run, Task
from relay.runs import presence
from relay.runs.queue import LEASE, MAX_ATTEMPTS
from relay.tasks import lifecycle, lost_runs, transitions
from tests.fixtures import wrapped
from tests.relay.calling import presence_of
from tests.relay.fake_connector import FakeConnector, after, ask, now, of
from wake.models import Delivery

LAPSED = LEASE.total_seconds() + 1


def said_last(task: Task) -> str:
    message = now(task).status_message
    return "" if message is None else message.parts[0]["text"]


@pytest.mark.parametrize(("of_connector", "of_agent", "leased"), [(9, 4, 4), (2, 4, 2), (9, 1, 1)])
def test_a_connector_gets_runs_up_to_its_and_its_agents_capacity(
    card: Card, caller_key: CallerKey, key: ApiKey, of_connector: int, of_agent: int, leased: int
) -> None:
    card.max_concurrency = of_agent
    card.save()
    tasks = [ask(card, caller_key, at=after(number)) for number in range(6)]
    connector = FakeConnector(key, capacity=of_connector)

    frames = connector.look(at=after(10))

    assert [frame["taskId"] for frame in frames] == [str(task.pk) for task in tasks[:leased]]
    assert connector.look(at=after(11)) == []

    connector.end(frames[0], "completed", at=after(12))

    assert len(connector.look(at=after(13))) == 1


def test_two_connectors_share_the_capacity_of_their_agent(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    first, second = FakeConnector(key, capacity=3), FakeConnector(key, capacity=3)
    for _ in range(6):
        ask(card, caller_key)

    runs = [frame["dispatch_id"] for connector in (first, second) for frame in connector.look()]

    assert len(runs) == len(set(runs)) == card.max_concurrency == 4


def test_a_paused_agent_runs_nothing_until_it_is_resumed(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    card.agent.paused_at = timezone.now()
    card.agent.save()
    assert connector.look() == []

    card.agent.paused_at = None
    card.agent.save()

    assert len(connector.look()) == 1


def test_a_heartbeat_renews_the_lease_of_a_run(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    frame = connector.run()

    for seconds in range(15, 600, 15):
        connector.send_frame("heartbeat", dispatch_ids=[frame["dispatch_id"]], at=after(seconds))
        assert lost_runs.expire_leases(at=after(seconds)) == 0

    assert presence_of(card, at=after(600)).online
    connector.end(frame, "completed", at=after(601))
    assert now(task).state == Task.State.COMPLETED


def test_a_run_of_a_lost_connector_waits_for_the_next_one(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    lost, other = FakeConnector(key), FakeConnector(key, capacity=2)
    task = ask(card, caller_key)
    frame = lost.run()

    assert lost_runs.expire_leases(at=after(LAPSED)) == 1
    assert lost_runs.expire_leases(at=after(LAPSED)) == 0

    assert (
        now(task).state == Task.State.SUBMITTED
    )  # the task is no longer "working", because no connector runs it
    other.send_frame("heartbeat", dispatch_ids=[], at=after(LAPSED))
    again = other.run(at=after(LAPSED + 1))
    assert (again["dispatch_id"], again["attempt"]) == (frame["dispatch_id"], 2)
    assert again["lease_id"] != frame["lease_id"]


def test_only_the_holder_of_the_lease_reports(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A connector whose lease was lost cannot report any more."""
    lost, other = FakeConnector(key), FakeConnector(key)
    task = ask(card, caller_key)
    old = lost.run()
    lost_runs.expire_leases(at=after(LAPSED))
    (error,) = lost.end(old, "completed", text="From the lost one.", at=after(LAPSED + 1))
    other.send_frame("heartbeat", dispatch_ids=[], at=after(LAPSED))
    new = other.run(at=after(LAPSED + 2))

    for kind in ("ack", "progress", "result"):
        (refused,) = lost.send_frame(kind, **of(old), state="completed", n=1, at=after(LAPSED + 3))
        assert refused["code"] == error["code"] == "lease_lost"
    other.end(new, "completed", text="From the new one.", at=after(LAPSED + 4))

    assert said_last(task) == "From the new one."


def test_a_result_counts_once(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    """The `done` frame was lost, so the result comes again."""
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    frame = connector.run()

    answers = [
        connector.end(frame, state, text=state, at=after(1)) for state in ("completed", "failed")
    ]

    assert answers[0] == answers[1] == [{"type": "done", "dispatch_id": frame["dispatch_id"]}]
    assert (now(task).state, said_last(task)) == (Task.State.COMPLETED, "completed")


def test_a_task_fails_after_its_connector_was_lost_three_times(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        start = attempt * 100.0
        frame = FakeConnector(key, at=after(start)).run(at=after(start))
        assert frame["attempt"] == attempt
        lost_runs.expire_leases(at=after(start + LAPSED))

    assert now(task).state == Task.State.FAILED
    assert "offline" in said_last(task)
    alert = Delivery.objects.get(task_delivery__task=task, type=Delivery.Type.ALERT)
    assert "offline" in alert.headline + alert.summary
    assert FakeConnector(key, at=after(500)).look(at=after(500)) == []


def test_a_task_that_no_connector_fetched_fails_after_a_week(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    old, young = ask(card, caller_key), ask(card, caller_key, at=after(1))

    lost_runs.give_up_old(at=after(days=7, seconds=-1))
    assert now(old).state == Task.State.SUBMITTED
    given_up = [lost_runs.give_up_old(at=after(days=7)) for _ in range(2)]

    assert given_up == [1, 0]
    assert (now(old).state, now(young).state) == (Task.State.FAILED, Task.State.SUBMITTED)
    assert said_last(old) == "The agent was offline for 7 days."
    connector = FakeConnector(key, at=after(days=7))
    assert connector.run(at=after(days=7))["taskId"] == str(young.pk)


def test_a_run_of_a_canceled_task_ends_when_its_connector_is_lost(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    FakeConnector(key).run()
    lifecycle.cancel(task, by=SYSTEM, at=after(1))

    lost_runs.expire_leases(at=after(LAPSED))

    assert Run.objects.get().state == Run.State.EXPIRED
    assert now(task).state == Task.State.CANCELED


def test_a_returning_connector_continues_its_runs(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """The relay was away for an hour, so every lease lapsed. The outage makes no run start
    twice."""
    task = ask(card, caller_key)
    connector = FakeConnector(key)
    frame = connector.run()
    lost_runs.expire_leases(at=after(hours=1))

    back = FakeConnector(
        key, at=after(hours=1), **connector.said | {"last_dispatch_ids": [frame["dispatch_id"]]}
    )

    assert now(task).state == Task.State.WORKING
    assert back.look(at=after(hours=1)) == []
    assert back.end(frame, "completed", at=after(hours=1))[0]["type"] == "done"
    assert now(task).state == Task.State.COMPLETED


def test_a_lost_run_is_sent_again_at_once(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    ask(card, caller_key)
    connector = FakeConnector(key)
    (lost,) = connector.look()

    back = FakeConnector(key, at=after(1), **connector.said)

    (again,) = back.look(at=after(2))
    assert again["dispatch_id"] == lost["dispatch_id"]


def test_a_canceled_run_is_not_sent_again(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    task = ask(card, caller_key)
    connector = FakeConnector(key)
    connector.look()
    lifecycle.cancel(task, by=SYSTEM, at=after(1))

    back = FakeConnector(key, at=after(2), **connector.said)

    assert back.look(at=after(3)) == []
    assert Run.objects.get().state == Run.State.EXPIRED


def test_one_run_whose_lease_cannot_expire_delays_no_other(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    first, second = (ask(card, caller_key) for _ in range(2))
    connector = FakeConnector(key, capacity=2)
    connector.look()

    with wrapped.failing(transitions, "lock", Unreadable(), given=first.pk):
        taken_back = lost_runs.expire_leases(at=after(LAPSED))

    assert taken_back == 1
    states = {run.task_id: run.state for run in Run.objects.all()}
    assert states == {first.pk: Run.State.LEASED, second.pk: Run.State.QUEUED}


def test_a_restarted_connector_replaces_the_one_before_it(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    ask(card, caller_key)
    before = FakeConnector(key, machine="studio")
    frame = before.run()

    here = FakeConnector(
        key, at=after(5), machine="studio", last_dispatch_ids=[frame["dispatch_id"], "not-ours"]
    )

    assert before.look(at=after(6))[0]["code"] == "replaced"
    assert before.session.closes == 4409
    assert here.end(frame, "completed", at=after(7))[0]["type"] == "done"


def test_two_connectors_on_one_machine_do_not_replace_each_other(card: Card, key: ApiKey) -> None:
    older = FakeConnector(key, machine="studio")
    newer = FakeConnector(key, machine="studio", at=after(1))

    back = FakeConnector(key, hello=False, machine="studio", instance_id=older.said["instance_id"])
    (refused,) = back.send_frame("hello", at=after(2), **back.said)

    assert (refused["code"], back.session.closes) == ("replaced", 4409)
    assert newer.look(at=after(3)) == []
    assert newer.session.closes is None


def test_presence_counts_connectors_and_waiting_tasks(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    assert presence_of(card, at=after()) == presence.Presence([], 0, 0, None)
    connector = FakeConnector(key, machine="studio")
    ask(card, caller_key)
    connector.run()
    ask(card, caller_key)

    there = presence_of(card, at=after(44))
    gone = presence_of(card, at=after(45))

    assert ([str(one) for one in there.online], there.queued, there.running) == (["studio"], 1, 1)
    assert (bool(there.online), gone.online, gone.seen_at) == (True, [], after())


def test_a_connector_that_said_goodbye_is_offline_at_once(card: Card, key: ApiKey) -> None:
    connector = FakeConnector(key)
    assert presence_of(card, at=after(1)).online

    connector.session.leave(at=after(2))

    assert not presence_of(card, at=after(3)).online


def test_a_late_disconnect_does_not_take_a_reconnected_connector_offline(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A connector that moved to another network returns before its old connection times out."""
    before = FakeConnector(key)
    back = FakeConnector(key, at=after(5), **before.said)

    before.session.leave(at=after(20))

    assert presence_of(card, at=after(21)).online
    assert (back.look(at=after(21)), back.session.closes) == ([], None)
    assert before.look(at=after(22))[0]["code"] == "replaced"


def test_a_task_fails_after_three_losses_even_if_the_connector_returns_at_once(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """Without this limit, a run that kills its connector would repeat forever and block the other
    runs."""
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    for _ in range(3):
        (frame,) = connector.look()
        connector = FakeConnector(key, instance_id=connector.said["instance_id"])

    assert frame["attempt"] == 3
    assert connector.look() == []
    assert lost_runs.expire_leases(at=after(61)) == 1
    assert Task.objects.get(pk=task.pk).state == Task.State.FAILED
