"""A browser whose subscription has changed keeps its channel."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent
from inbox.models import Channel, NotificationRule
from inbox.notifications.channels.kinds.web_push import KIND
from inbox.notifications.web_push import vapid
from tests.fixtures.strict_client import Client
from tests.inbox.notifications.channels.conftest import ALL, work
from tests.inbox.notifications.web_push.push_service import Browser
from tests.inbox.notifications.web_push.test_web_push import (
    HOUR,
    MINUTE,
    NINE,
    PAGE,
    turn_on,
)
from tests.inbox.person import Person
from tests.types import MakeDelivery
from tests.wake.callbacks.receiver import Receiver

RENEWAL = f"{PAGE}renewal"


def test_a_changed_subscription_keeps_the_channel_and_what_it_tells(
    bobs: Person, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery
) -> None:
    turn_on(bobs, browser)
    channel = Channel.objects.get()
    NotificationRule.objects.update(events=ALL, since=NINE - HOUR)
    changed = Browser(browser.endpoint.replace("one", "two"))
    told = bobs.client.get(RENEWAL)
    assert told.json()["key"] == vapid.public_key()
    assert "no-store" in told.headers["Cache-Control"]

    token = {"X-CSRFToken": told.json()["token"]}

    answer = bobs.client.post(RENEWAL, {"subscription": changed.subscription}, headers=token)

    assert answer.status_code == 204
    assert AuditEvent.objects.filter(event="channel.renewed").count() == 1
    make_delivery(at=NINE)
    assert work(NINE + MINUTE) == 1
    (request,) = push_service.received
    assert request.path == "/push/two"
    assert changed.read(request)["title"] == "research-agent-01 needs an answer"
    assert Channel.objects.get().pk == channel.pk


def test_a_renewed_channel_that_was_suspended_works_again(bobs: Person, browser: Browser) -> None:
    """The push service reported the end of the subscription before the browser did."""
    turn_on(bobs, browser)
    Channel.objects.update(suspended_at=NINE, failing_since=NINE, error="Gone.", failures=1)

    renewed = {"subscription": Browser(browser.endpoint + "-2").subscription}
    bobs.client.post(RENEWAL, renewed, page=PAGE, by_hand=True)

    channel = Channel.objects.get()
    assert (channel.suspended_at, channel.failing_since, channel.error) == (None, None, "")
    assert channel.rule.since > NINE


@pytest.mark.parametrize("text", ["", "{}", "[]", "x" * 5_000])
def test_a_renewal_without_a_subscription_changes_nothing(
    bobs: Person, browser: Browser, text: str
) -> None:
    turn_on(bobs, browser)

    assert bobs.client.post(RENEWAL, {"subscription": text}).status_code == 422
    assert Channel.objects.get().address == KIND.check(browser.subscription)


def test_a_renewal_goes_to_no_other_server(bobs: Person, browser: Browser, settings: Any) -> None:
    turn_on(bobs, browser)
    evil = Browser("https://evil.example/push")

    assert bobs.client.post(RENEWAL, {"subscription": evil.subscription}).status_code == 422


def test_only_the_browser_itself_renews_its_channel(
    bobs: Person, alices: Person, browser: Browser
) -> None:
    turn_on(bobs, browser)
    other = {"subscription": Browser(browser.endpoint + "-2").subscription}

    for who in (Person(bobs.user), alices):
        assert who.client.get(RENEWAL).json()["key"] is None
        assert who.client.post(RENEWAL, other).status_code == 409
    assert Client(sends_tokens=False).get(RENEWAL).status_code == 302
    forged = Client(sends_tokens=False)
    forged.cookies = bobs.client.cookies
    assert forged.post(RENEWAL, other).status_code == 403
    assert Channel.objects.get().address == KIND.check(browser.subscription)
