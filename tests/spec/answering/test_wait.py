""" "`?wait=1..25` long poll on the two GETs, never unasked; another value is 422."
(docs/protocol.md)"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.occupied import occupied
from tests.spec.http.test_errors import error_of
from tests.types import Answer
from wake.api import long_poll
from wake.models import Delivery, Response

# Most tests ask to wait 25 seconds; this is less than that, and enough for a busy machine.
LESS_THAN_ASKED = 20


@pytest.mark.parametrize("wait", ["0", "26", "-1", "x", "", "1.5", "1e1", "999999999999", "true"])
@pytest.mark.parametrize("path", ["response/{}", "responses"])
def test_an_invalid_wait_is_422(caller: AgentClient, path: str, wait: str) -> None:
    pk = caller.deliver()

    error = error_of(caller.get(path.format(pk), wait=wait), 422, "invalid_field")

    assert [problem["field"] for problem in error["fields"]] == ["wait"]


def test_a_poll_without_wait_returns_at_once(caller: AgentClient) -> None:
    """ "never unasked": the specification's clients give up after 5 s."""
    pk = caller.deliver()
    start = time.monotonic()

    caller.poll(pk)
    caller.sweep(since="9999-01-01")

    assert time.monotonic() - start < LESS_THAN_ASKED


@pytest.mark.parametrize("path", ["response/{}", "responses"])
def test_an_existing_answer_is_returned_at_once(
    caller: AgentClient, answer: Answer, path: str
) -> None:
    pk = caller.deliver()
    answer(pk)
    start = time.monotonic()

    assert caller.get(path.format(pk), wait=25).status_code == 200
    assert caller.get("response/nothing", wait=25).status_code == 404

    assert time.monotonic() - start < LESS_THAN_ASKED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["response/{}", "responses?status=approved"])
def test_a_wait_returns_when_the_answer_comes(
    caller: AgentClient, answer: Answer, path: str
) -> None:
    pk = caller.deliver()
    path = path.format(pk)
    start = time.monotonic()

    with soon(lambda: answer(pk)):
        body = caller.get(f"{path}{'&' if '?' in path else '?'}wait=25").json()

    item = body["deliveries"][0] if "deliveries" in body else body
    assert item["status"] == "approved"
    assert 0.3 < time.monotonic() - start < LESS_THAN_ASKED
    assert Response.objects.get().picked_up_at is not None


def test_a_wait_ends_after_the_requested_time(caller: AgentClient) -> None:
    pk = caller.deliver()
    start = time.monotonic()

    body = caller.get(f"response/{pk}", wait=1).json()

    assert body["status"] == "pending"
    assert 0.9 < time.monotonic() - start < LESS_THAN_ASKED


def test_a_held_answer_does_not_end_a_wait(caller: AgentClient, answer: Answer) -> None:
    pk = caller.deliver()
    answer(pk, held=True)

    assert caller.get(f"response/{pk}", wait=1).json()["status"] == "pending"


def test_a_wait_releases_answers_that_fall_due(
    caller: AgentClient, answer: Answer, settings: Any
) -> None:
    settings.WAKE_HOLD_SECONDS = 1
    pk = caller.deliver()
    answer(pk, held=True)

    assert caller.get(f"response/{pk}", wait=10).json()["status"] == "approved"


def test_when_too_many_long_polls_wait_others_are_answered_at_once(caller: AgentClient) -> None:
    """ "a long poll holds a thread" (settings): a request above the limit is answered at once."""
    pk = caller.deliver()
    start = time.monotonic()

    with occupied(long_poll._places):
        body = caller.get(f"response/{pk}", wait=25).json()

    assert body["status"] == "pending"
    assert time.monotonic() - start < LESS_THAN_ASKED


def test_a_finished_wait_frees_its_place(caller: AgentClient, answer: Answer) -> None:
    pk = caller.deliver()

    with occupied(long_poll._places, leaving=1):
        caller.get(f"response/{pk}", wait=1)

        assert long_poll._places.acquire(blocking=False)
        long_poll._places.release()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["response/{}", "responses?status=approved"])
@pytest.mark.parametrize("comes", ["nothing", "the answer"])
def test_a_key_that_is_revoked_meanwhile_gets_nothing(
    caller: AgentClient, key: ApiKey, answer: Answer, path: str, comes: str
) -> None:
    """ "revocation bites within a second": the answer is kept for the agent's next key."""
    path = path.format(caller.deliver())

    def revoke() -> None:
        keys.revoke(key, by=SYSTEM, at=timezone.now())
        if comes == "the answer":
            answer(Delivery.objects.get())

    with soon(revoke):
        ended = caller.get(f"{path}{'&' if '?' in path else '?'}wait=2")

    error_of(ended, 401, "unauthorized")
    assert not Response.objects.filter(picked_up_at__isnull=False).exists()
    if comes == "the answer":
        _, text = keys.mint(key.agent, by=SYSTEM)
        caller.headers["Authorization"] = f"Bearer {text}"
        assert caller.get(path).status_code == 200
        assert Response.objects.get().picked_up_at is not None


class soon:  # noqa: N801 - reads as the word that it is
    """Runs the action in another thread, as another person would, half a second from now."""

    def __init__(self, do: Callable[[], Any]) -> None:
        self.failed: BaseException | None = None
        self.timer = threading.Timer(0.5, self._run, [do])

    def _run(self, do: Callable[[], Any]) -> None:
        try:
            do()
        except BaseException as failure:
            self.failed = failure
        finally:
            connection.close()

    def __enter__(self) -> None:
        self.timer.start()

    def __exit__(self, *raised: object) -> None:
        self.timer.join()
        assert self.failed is None
        assert Delivery.objects.exists()
