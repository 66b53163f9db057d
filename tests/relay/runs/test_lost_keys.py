"""What becomes of a run when the key that its task was stored with is lost in the middle."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import ApiKey
from inbox.details import render
from relay import expiry
from relay.dispatches import ATTEMPTS_AT_MOST
from relay.models import CallerKey, Card, Dispatch, Task
from tests.relay.machine import Machine, after, ask, of
from wake.models import Delivery

WEEK = expiry.WAITS_AT_MOST.total_seconds()


@pytest.fixture(autouse=True)
def _encrypted(settings: Any) -> None:
    settings.WAKE_ENCRYPT_CONTENT = True
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-is-lost-by-tomorrow-morning"]


def lose_key(settings: Any) -> None:
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-everything-else-is-stored-with"]


def alert() -> Delivery:
    return Delivery.objects.unanswered().get(type=Delivery.Type.ALERT)


def is_told(delivery: Delivery, *, headline: str) -> bool:
    """By its headline, and with why there is nothing else."""
    page = render(delivery.details_json)
    return (
        delivery.headline.startswith(headline)
        and delivery.summary == "For Build server."
        and "cannot be read" in str(page)
        and headline in str(page)
    )


def test_a_run_whose_key_is_lost_on_its_last_attempt_fails_and_leaves_its_place(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any
) -> None:
    card.max_concurrency = 1
    card.save()
    lost = ask(card, caller_key)
    machine = Machine(key)
    run = machine.run()
    machine.tell("progress", **of(run), text="Half of it.", n=1)
    Dispatch.objects.update(attempts=ATTEMPTS_AT_MOST)
    lose_key(settings)

    taken_back = [expiry.expire_leases(at=after(61)) for _ in range(2)]

    assert taken_back == [1, 0]
    assert Task.objects.get(pk=lost.pk).state == Task.State.FAILED
    assert is_told(alert(), headline="The agent was offline")
    task = ask(card, caller_key, at=after(62))
    (frame,) = Machine(key, at=after(62)).look(at=after(62))
    assert frame["taskId"] == str(task.pk)


def test_what_waits_for_its_key_for_a_week_is_given_up(
    card: Card, caller_key: CallerKey, settings: Any
) -> None:
    lost = ask(card, caller_key)
    lose_key(settings)

    given_up = [expiry.give_up_old(at=after(WEEK)) for _ in range(2)]

    assert given_up == [1, 0]
    assert Task.objects.get(pk=lost.pk).state == Task.State.FAILED
    assert is_told(alert(), headline="The agent was offline for 7 days.")


def test_a_question_waits_for_the_key_of_what_it_is_about(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any
) -> None:
    """Nobody should answer what is not shown."""
    task = ask(card, caller_key)
    machine = Machine(key)
    question = {"type": "result", **of(machine.run()), "state": "input_required", "text": "Go on?"}
    here = settings.WAKE_ENCRYPTION_KEYS
    lose_key(settings)

    (failed,) = machine.session.read(json.dumps(question), at=after(1))
    settings.WAKE_ENCRYPTION_KEYS = here
    (done,) = machine.session.read(json.dumps(question), at=after(2))

    assert (failed["code"], done["type"]) == ("failed", "done")
    assert Task.objects.get(pk=task.pk).state == Task.State.INPUT_REQUIRED
    assert Delivery.objects.unanswered().get().summary.endswith("Compare the ten largest.")
