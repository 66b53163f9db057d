"""A run fails cleanly when the encryption key of its task is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import ApiKey
from inbox.rendering.details import render
from relay.models import CallerKey, Card, Run, Task
from relay.runs.queue import MAX_ATTEMPTS
from relay.tasks import lost_runs
from tests.relay.fake_connector import FakeConnector, after, ask, of
from wake.models import Delivery

WEEK = lost_runs.LONGEST_WAIT.total_seconds()


@pytest.fixture(autouse=True)
def _encrypted(settings: Any) -> None:
    settings.WAKE_ENCRYPT_CONTENT = True
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-is-lost-by-tomorrow-morning"]


def lose_key(settings: Any) -> None:
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-everything-else-is-stored-with"]


def alert() -> Delivery:
    return Delivery.objects.unanswered().get(type=Delivery.Type.ALERT)


def is_shown_without_request(delivery: Delivery, *, headline: str) -> bool:
    """Says whether the delivery has the headline and explains why the content is missing."""
    page = render(delivery.details_json)
    return (
        delivery.headline.startswith(headline)
        and delivery.summary == "For Build server."
        and "encryption key is missing" in str(page)
        and headline in str(page)
    )


def test_an_unreadable_run_fails_after_its_last_attempt(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any
) -> None:
    card.max_concurrency = 1
    card.save()
    lost = ask(card, caller_key)
    connector = FakeConnector(key)
    run = connector.run()
    connector.send_frame("progress", **of(run), text="Half of it.", n=1)
    Run.objects.update(attempts=MAX_ATTEMPTS)
    lose_key(settings)

    taken_back = [lost_runs.expire_leases(at=after(61)) for _ in range(2)]

    assert taken_back == [1, 0]
    assert Task.objects.get(pk=lost.pk).state == Task.State.FAILED
    assert is_shown_without_request(alert(), headline="The agent was offline")
    task = ask(card, caller_key, at=after(62))
    (frame,) = FakeConnector(key, at=after(62)).look(at=after(62))
    assert frame["taskId"] == str(task.pk)


def test_a_run_without_its_encryption_key_fails_after_a_week(
    card: Card, caller_key: CallerKey, settings: Any
) -> None:
    lost = ask(card, caller_key)
    lose_key(settings)

    given_up = [lost_runs.give_up_old(at=after(WEEK)) for _ in range(2)]

    assert given_up == [1, 0]
    assert Task.objects.get(pk=lost.pk).state == Task.State.FAILED
    assert is_shown_without_request(alert(), headline="The agent was offline for 7 days.")


def test_a_question_waits_for_the_encryption_key_of_its_task(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any
) -> None:
    """People cannot answer what the page does not show."""
    task = ask(card, caller_key)
    connector = FakeConnector(key)
    question = {
        "type": "result",
        **of(connector.run()),
        "state": "input_required",
        "text": "Go on?",
    }
    here = settings.WAKE_ENCRYPTION_KEYS
    lose_key(settings)

    (failed,) = connector.session.read(json.dumps(question), at=after(1))
    settings.WAKE_ENCRYPTION_KEYS = here
    (done,) = connector.session.read(json.dumps(question), at=after(2))

    assert (failed["code"], done["type"]) == ("failed", "done")
    assert Task.objects.get(pk=task.pk).state == Task.State.INPUT_REQUIRED
    assert Delivery.objects.unanswered().get().summary.endswith("Compare the ten largest.")
