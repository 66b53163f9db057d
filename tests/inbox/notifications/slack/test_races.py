"""Presses arrive over HTTP at the moment of another action, and only one of the two counts."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from accounts.models import AuditEvent, Membership, User
from database.clock import database_now
from inbox.models import Channel
from tests.inbox.notifications.slack.conftest import MINUTE, Slack, update, words_of
from tests.inbox.person import Person
from tests.stress.concurrency.threads import at_once
from wake import deadlines
from wake.models import Delivery, Response

NotifyBob = Callable[..., Delivery]
TURNS = pytest.mark.parametrize("turn", range(3))


@pytest.fixture
def press(slack: Slack, live_server: Any) -> Callable[..., int]:
    """Sends requests that Slack signed to a server on a socket. Threads may share one object."""

    def send(action: str, message: Any = None) -> int:
        own = OverHttp(slack.api)
        own.host = urlsplit(live_server.url).netloc
        return own.press(action, of=message or slack.last)

    return send


class OverHttp(Slack):
    host = ""

    def send_again(self) -> int:
        body, headers = self.sent
        connection = http.client.HTTPConnection(self.host, timeout=30)
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/slack/interactions", body, {**headers, **kind})
        status = connection.getresponse().status
        connection.close()
        return status


def answers() -> int:
    """Counts the answers in the audit, without answers that were taken back."""
    events = AuditEvent.objects.values_list("event", flat=True)
    return sum({"delivery.answered": 1, "response.taken_back": -1}.get(one, 0) for one in events)


@TURNS
def test_approve_and_reject_at_once(
    press: Any, notify_bob: NotifyBob, slack: Slack, turn: int
) -> None:
    notify_bob()
    message = slack.last

    codes = at_once(
        lambda: press("approved", message),
        lambda: press("rejected", message),
        lambda: press("approved", message),
    )

    # Two presses of one button in the same second may have the same bytes. Requests with the same
    # bytes count once.
    assert set(codes) <= {200, 403}
    assert Response.objects.count() == answers() == 1
    update()
    assert f"{Response.objects.get().get_status_display()} by" in words_of(slack.last)


@TURNS
def test_a_press_and_the_page_at_once(
    press: Any, notify_bob: NotifyBob, slack: Slack, alice: User, turn: int
) -> None:
    delivery, message = notify_bob(), slack.last

    at_once(
        lambda: press("approved", message),
        lambda: Person(alice).answer(delivery, "rejected").status_code,
    )

    assert Response.objects.count() == answers() == 1


@TURNS
def test_a_press_and_the_deadline_at_once(
    press: Any, notify_bob: NotifyBob, slack: Slack, turn: int
) -> None:
    """Both orders are right: the answer comes in time and nothing expires, or there is no
    answer."""
    delivery, message = notify_bob(timeout_seconds=7_200), slack.last
    expires_at = database_now() + MINUTE / 600
    Delivery.objects.update(expires_at=expires_at)

    at_once(
        lambda: press("approved", message),
        lambda: deadlines.time_out_overdue(at=expires_at),
    )

    delivery.refresh_from_db()
    is_answered = delivery.answered_at is not None
    assert Response.objects.count() == answers() == is_answered
    assert is_answered or delivery.timed_out_at is not None


@TURNS
def test_a_press_and_the_end_of_the_link_at_once(
    press: Any, notify_bob: NotifyBob, slack: Slack, turn: int
) -> None:
    notify_bob()
    message = slack.last

    codes = at_once(
        lambda: press("approved", message),
        lambda: Channel.objects.all().delete()[0],
    )

    assert codes[0] == 200
    assert Response.objects.count() == answers()


@TURNS
def test_a_press_and_a_lost_role_at_once(
    press: Any, notify_bob: NotifyBob, slack: Slack, bob: User, turn: int
) -> None:
    notify_bob()
    message = slack.last

    at_once(
        lambda: press("approved", message),
        lambda: Membership.objects.filter(user=bob).delete(),
    )

    assert Response.objects.count() == answers()


@TURNS
def test_undo_and_another_press_at_once(
    press: Any, notify_bob: NotifyBob, slack: Slack, turn: int
) -> None:
    notify_bob()
    message = slack.last
    press("approved")
    update()
    with_undo = slack.last

    at_once(lambda: press("undo", with_undo), lambda: press("rejected", message))

    assert Response.objects.count() == answers()
    assert Response.objects.count() <= 1
