"""The queue of runs: each on one machine at a time, none lost, none for ever."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.encryption import Unreadable
from accounts.models import ApiKey
from relay import expiry, lifecycle, moves, presence
from relay.dispatches import ATTEMPTS_AT_MOST, LEASE
from relay.models import CallerKey, Card, Dispatch, Task
from tests.relay.machine import Machine, after, ask, of
from wake.models import Delivery

LAPSED = LEASE.total_seconds() + 1


def now(task: Task) -> Task:
    return Task.objects.select_related("status_message").get(pk=task.pk)


def said_last(task: Task) -> str:
    message = now(task).status_message
    return "" if message is None else message.parts[0]["text"]


@pytest.mark.parametrize(("of_machine", "of_agent", "leased"), [(9, 4, 4), (2, 4, 2), (9, 1, 1)])
def test_a_machine_gets_as_much_as_it_and_its_agent_have_room_for(
    card: Card, caller_key: CallerKey, key: ApiKey, of_machine: int, of_agent: int, leased: int
) -> None:
    card.max_concurrency = of_agent
    card.save()
    tasks = [ask(card, caller_key, at=after(number)) for number in range(6)]
    machine = Machine(key, capacity=of_machine)

    frames = machine.look(at=after(10))

    assert [frame["taskId"] for frame in frames] == [str(task.pk) for task in tasks[:leased]]
    assert machine.look(at=after(11)) == []

    machine.end(frames[0], "completed", at=after(12))

    assert len(machine.look(at=after(13))) == 1


def test_two_machines_share_the_room_of_their_agent(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    first, second = Machine(key, capacity=3), Machine(key, capacity=3)
    for _ in range(6):
        ask(card, caller_key)

    runs = [frame["dispatch_id"] for machine in (first, second) for frame in machine.look()]

    assert len(runs) == len(set(runs)) == card.max_concurrency == 4


def test_a_paused_agent_runs_nothing_until_it_is_resumed(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    machine = Machine(key)
    ask(card, caller_key)
    card.agent.paused_at = timezone.now()
    card.agent.save()
    assert machine.look() == []

    card.agent.paused_at = None
    card.agent.save()

    assert len(machine.look()) == 1


def test_a_heartbeat_keeps_a_run_and_its_machine(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    machine = Machine(key)
    task = ask(card, caller_key)
    frame = machine.run()

    for seconds in range(15, 600, 15):
        machine.tell("heartbeat", dispatch_ids=[frame["dispatch_id"]], at=after(seconds))
        assert expiry.expire_leases(at=after(seconds)) == 0

    assert presence.is_online(card.agent, at=after(600))
    machine.end(frame, "completed", at=after(601))
    assert now(task).state == Task.State.COMPLETED


def test_a_run_whose_machine_is_gone_waits_for_the_next_one(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    lost, other = Machine(key), Machine(key, capacity=2)
    task = ask(card, caller_key)
    frame = lost.run()

    assert expiry.expire_leases(at=after(LAPSED)) == 1
    assert expiry.expire_leases(at=after(LAPSED)) == 0

    assert now(task).state == Task.State.SUBMITTED  # and no longer "working", which nobody does
    other.tell("heartbeat", dispatch_ids=[], at=after(LAPSED))
    again = other.run(at=after(LAPSED + 1))
    assert (again["dispatch_id"], again["attempt"]) == (frame["dispatch_id"], 2)
    assert again["lease_id"] != frame["lease_id"]


def test_only_who_has_the_lease_is_heard(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    """Trap 25: fencing."""
    lost, other = Machine(key), Machine(key)
    task = ask(card, caller_key)
    old = lost.run()
    expiry.expire_leases(at=after(LAPSED))
    (error,) = lost.end(old, "completed", text="From the lost one.", at=after(LAPSED + 1))
    other.tell("heartbeat", dispatch_ids=[], at=after(LAPSED))
    new = other.run(at=after(LAPSED + 2))

    for kind in ("ack", "progress", "result"):
        (refused,) = lost.tell(kind, **of(old), state="completed", n=1, at=after(LAPSED + 3))
        assert refused["code"] == error["code"] == "lease_lost"
    other.end(new, "completed", text="From the new one.", at=after(LAPSED + 4))

    assert said_last(task) == "From the new one."


def test_a_result_counts_once(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    """Trap 25: its `done` was lost, so it comes again."""
    machine = Machine(key)
    task = ask(card, caller_key)
    frame = machine.run()

    answers = [
        machine.end(frame, state, text=state, at=after(1)) for state in ("completed", "failed")
    ]

    assert answers[0] == answers[1] == [{"type": "done", "dispatch_id": frame["dispatch_id"]}]
    assert (now(task).state, said_last(task)) == (Task.State.COMPLETED, "completed")


def test_a_task_fails_when_its_machine_went_away_three_times(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    for attempt in range(1, ATTEMPTS_AT_MOST + 1):
        start = attempt * 100.0
        frame = Machine(key, at=after(start)).run(at=after(start))
        assert frame["attempt"] == attempt
        expiry.expire_leases(at=after(start + LAPSED))

    assert now(task).state == Task.State.FAILED
    assert "offline" in said_last(task)
    alert = Delivery.objects.get(surfaced__task=task, type=Delivery.Type.ALERT)
    assert "offline" in alert.headline + alert.summary
    assert Machine(key, at=after(500)).look(at=after(500)) == []


def test_what_nobody_came_for_fails_after_a_week(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    old, young = ask(card, caller_key), ask(card, caller_key, at=after(1))

    expiry.give_up_old(at=after(days=7, seconds=-1))
    assert now(old).state == Task.State.SUBMITTED
    given_up = [expiry.give_up_old(at=after(days=7)) for _ in range(2)]

    assert given_up == [1, 0]
    assert (now(old).state, now(young).state) == (Task.State.FAILED, Task.State.SUBMITTED)
    assert said_last(old) == "The agent was offline for 7 days."
    machine = Machine(key, at=after(days=7))
    assert machine.run(at=after(days=7))["taskId"] == str(young.pk)


def test_a_run_of_a_canceled_task_whose_machine_is_gone_is_over(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    Machine(key).run()
    lifecycle.cancel(task, by=SYSTEM, at=after(1))

    expiry.expire_leases(at=after(LAPSED))

    assert Dispatch.objects.get().state == Dispatch.State.EXPIRED
    assert now(task).state == Task.State.CANCELED


def test_a_machine_that_comes_back_goes_on_with_what_it_runs(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """The relay was away for an hour, so every lease lapsed: nothing is run twice because of it."""
    task = ask(card, caller_key)
    machine = Machine(key)
    frame = machine.run()
    expiry.expire_leases(at=after(hours=1))

    back = Machine(
        key, at=after(hours=1), **machine.said | {"last_dispatch_ids": [frame["dispatch_id"]]}
    )

    assert now(task).state == Task.State.WORKING
    assert back.look(at=after(hours=1)) == []
    assert back.end(frame, "completed", at=after(hours=1))[0]["type"] == "done"
    assert now(task).state == Task.State.COMPLETED


def test_a_task_that_got_lost_on_its_way_is_sent_again_at_once(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    ask(card, caller_key)
    machine = Machine(key)
    (lost,) = machine.look()

    back = Machine(key, at=after(1), **machine.said)

    (again,) = back.look(at=after(2))
    assert again["dispatch_id"] == lost["dispatch_id"]


def test_what_was_canceled_on_its_way_is_not_sent_again(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    machine = Machine(key)
    machine.look()
    lifecycle.cancel(task, by=SYSTEM, at=after(1))

    back = Machine(key, at=after(2), **machine.said)

    assert back.look(at=after(3)) == []
    assert Dispatch.objects.get().state == Dispatch.State.EXPIRED


def test_one_run_that_cannot_be_moved_holds_no_other_back(
    card: Card, caller_key: CallerKey, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (ask(card, caller_key) for _ in range(2))
    machine = Machine(key, capacity=2)
    machine.look()
    lock = moves.lock

    def locked(task_id: Any) -> Task:
        if task_id == first.pk:
            raise Unreadable
        return lock(task_id)

    monkeypatch.setattr(moves, "lock", locked)
    taken_back = expiry.expire_leases(at=after(LAPSED))

    assert taken_back == 1
    states = {run.task_id: run.state for run in Dispatch.objects.all()}
    assert states == {first.pk: Dispatch.State.LEASED, second.pk: Dispatch.State.QUEUED}


def test_a_machine_that_was_started_anew_takes_the_place_of_what_it_was(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    ask(card, caller_key)
    before = Machine(key, machine="studio")
    frame = before.run()

    here = Machine(
        key, at=after(5), machine="studio", last_dispatch_ids=[frame["dispatch_id"], "not-ours"]
    )

    assert before.look(at=after(6))[0]["code"] == "replaced"
    assert before.session.closes == 4409
    assert here.end(frame, "completed", at=after(7))[0]["type"] == "done"


def test_two_connectors_of_one_machine_do_not_drive_each_other_out(card: Card, key: ApiKey) -> None:
    older = Machine(key, machine="studio")
    newer = Machine(key, machine="studio", at=after(1))

    back = Machine(key, hello=False, machine="studio", instance_id=older.said["instance_id"])
    (refused,) = back.tell("hello", at=after(2), **back.said)

    assert (refused["code"], back.session.closes) == ("replaced", 4409)
    assert newer.look(at=after(3)) == []
    assert newer.session.closes is None


def test_presence_tells_machines_and_what_waits(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    assert presence.of(card.agent, at=after()) == presence.Presence([], 0, 0, None)
    machine = Machine(key, machine="studio")
    ask(card, caller_key)
    machine.run()
    ask(card, caller_key)

    there = presence.of(card.agent, at=after(44))
    gone = presence.of(card.agent, at=after(45))

    assert ([str(one) for one in there.machines], there.queued, there.running) == (["studio"], 1, 1)
    assert (there.is_online, gone.is_online, gone.seen_at) == (True, False, after())


def test_a_machine_that_said_goodbye_is_offline_at_once(card: Card, key: ApiKey) -> None:
    machine = Machine(key)
    assert presence.is_online(card.agent, at=after(1))

    machine.session.leave(at=after(2))

    assert not presence.is_online(card.agent, at=after(3))


def test_a_connection_whose_end_is_noticed_late_takes_nobody_offline(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A machine that moved to another network is back before its old connection times out."""
    before = Machine(key)
    back = Machine(key, at=after(5), **before.said)

    before.session.leave(at=after(20))

    assert presence.is_online(card.agent, at=after(21))
    assert (back.look(at=after(21)), back.session.closes) == ([], None)
    assert before.look(at=after(22))[0]["code"] == "replaced"


def test_what_a_machine_is_lost_with_three_times_fails_though_it_comes_back_at_once(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """Or a run that its machine dies of would come again and again, and nothing after it."""
    machine = Machine(key)
    task = ask(card, caller_key)
    for _ in range(3):
        (frame,) = machine.look()
        machine = Machine(key, instance_id=machine.said["instance_id"])

    assert frame["attempt"] == 3
    assert machine.look() == []
    assert expiry.expire_leases(at=after(61)) == 1
    assert Task.objects.get(pk=task.pk).state == Task.State.FAILED
