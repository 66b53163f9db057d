"""Presses arrive over HTTP, in the same moment as something else, and one of them counts."""

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

Tell = Callable[..., Delivery]
TURNS = pytest.mark.parametrize("turn", range(3))


@pytest.fixture
def press(slack: Slack, live_server: Any) -> Callable[..., int]:
    """Sends what Slack signed to a server on a socket; safe in threads."""

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
    """Counts the answers that the audit has, besides those that were taken back."""
    events = AuditEvent.objects.values_list("event", flat=True)
    return sum({"delivery.answered": 1, "response.taken_back": -1}.get(one, 0) for one in events)


@TURNS
def test_approve_and_reject_at_once(press: Any, tell: Tell, slack: Slack, turn: int) -> None:
    tell()
    message = slack.last

    codes = at_once(
        lambda: press("approved", message),
        lambda: press("rejected", message),
        lambda: press("approved", message),
    )

    # Two presses of one button in one second may be the same bytes, which count once.
    assert set(codes) <= {200, 403}
    assert Response.objects.count() == answers() == 1
    update()
    assert f"{Response.objects.get().get_status_display()} by" in words_of(slack.last)


@TURNS
def test_a_press_and_the_page_at_once(
    press: Any, tell: Tell, slack: Slack, alice: User, turn: int
) -> None:
    delivery, message = tell(), slack.last

    at_once(
        lambda: press("approved", message),
        lambda: Person(alice).answer(delivery, "rejected").status_code,
    )

    assert Response.objects.count() == answers() == 1


@TURNS
def test_a_press_and_the_deadline_at_once(press: Any, tell: Tell, slack: Slack, turn: int) -> None:
    """Each order is right: an answer in time, which then never times out, or none."""
    delivery, message = tell(timeout_seconds=7_200), slack.last
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
    press: Any, tell: Tell, slack: Slack, turn: int
) -> None:
    tell()
    message = slack.last

    codes = at_once(
        lambda: press("approved", message),
        lambda: Channel.objects.all().delete()[0],
    )

    assert codes[0] == 200
    assert Response.objects.count() == answers()


@TURNS
def test_a_press_and_a_lost_role_at_once(
    press: Any, tell: Tell, slack: Slack, bob: User, turn: int
) -> None:
    tell()
    message = slack.last

    at_once(
        lambda: press("approved", message),
        lambda: Membership.objects.filter(user=bob).delete(),
    )

    assert Response.objects.count() == answers()


@TURNS
def test_undo_and_another_press_at_once(press: Any, tell: Tell, slack: Slack, turn: int) -> None:
    tell()
    message = slack.last
    press("approved")
    update()
    with_undo = slack.last

    at_once(lambda: press("undo", with_undo), lambda: press("rejected", message))

    assert Response.objects.count() == answers()
    assert Response.objects.count() <= 1
