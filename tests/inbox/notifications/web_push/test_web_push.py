"""A browser subscribes, and gets messages that only this browser can read. A browser that is gone
is forgotten."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from django.db import connection
from django.utils import timezone
from django.utils.http import urlsafe_base64_encode

from accounts.models import User
from accounts.sign_in.browsers import sessions
from accounts.sign_in.passwords import resets as password_resets
from inbox.models import Channel, NotificationRule, PushKey
from inbox.notifications.channels import sending
from inbox.notifications.channels.channels import MAX_CHANNELS
from inbox.notifications.channels.kinds.web_push import KIND
from inbox.notifications.web_push import vapid
from tests.fixtures.strict_client import Client
from tests.inbox.notifications.channels.conftest import ALL, work
from tests.inbox.notifications.times import utc
from tests.inbox.notifications.web_push.push_service import Browser, verify_vapid
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from tests.wake.callbacks.receiver import Receiver, answering

LIST = "/settings/notifications/"
PAGE = f"{LIST}browser/"
NINE = utc("2026-11-02 09:00")
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0"


def turn_on(who: Person, browser: Browser, **headers: str) -> Any:
    fields = {"subscription": browser.subscription}
    return who.client.post(PAGE, fields, follow=True, headers=headers)


def subscribed(user: User, browser: Browser) -> Channel:
    channel = Channel.objects.create(
        user=user,
        kind="web_push",
        name="Firefox on Linux",
        address=KIND.check(browser.subscription),
        created_at=NINE - HOUR,
        verified_at=NINE - HOUR,
    )
    NotificationRule.objects.create(channel=channel, events=ALL, since=NINE - HOUR)
    return channel


def test_a_browser_is_a_channel_named_for_it_and_a_test_arrives(
    bobs: Person, browser: Browser, push_service: Receiver
) -> None:
    answer = turn_on(bobs, browser, user_agent=FIREFOX)

    assert "Turned on. Choose what it sends you." in text_of(answer)
    channel = Channel.objects.get()
    assert (channel.user, channel.name) == (bobs.user, "Firefox on Linux")
    bobs.client.post(f"{LIST}{channel.pk}/test")
    assert browser.read(push_service.received[0])["title"].startswith("This is a test.")
    assert browser.endpoint not in text_of(bobs.get(LIST))


def test_a_message_is_encrypted_signed_and_expires_with_the_deadline(
    bob: User, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery
) -> None:
    subscribed(bob, browser)
    delivery = make_delivery(at=NINE, headline="Grüße?", timeout_seconds=7_200)

    assert work(NINE + MINUTE) == 1

    (request,) = push_service.received
    content = browser.read(request)
    assert content["title"] == "research-agent-01 needs an answer"
    assert content["body"] == "Grüße? (the deadline is at 11:00)"
    assert content["path"] == f"/deliveries/{delivery.pk}/"
    origin = f"http://127.0.0.1:{push_service.port}"
    claims = verify_vapid(request, origin=origin, at=NINE + MINUTE)
    assert claims["k"] == vapid.public_key()
    assert request.headers["TTL"] == str(119 * 60)
    assert request.headers["Urgency"] == "high"
    assert request.headers["Topic"] == content["tag"]
    assert len(request.headers["Topic"]) == 32


def test_a_message_with_long_headlines_fits(
    bob: User, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery
) -> None:
    subscribed(bob, browser)
    for _ in range(7):
        make_delivery(at=NINE, headline="界" * 120)

    assert work(NINE + MINUTE) == 1

    (request,) = push_service.received
    assert browser.read(request)["title"] == "7 deliveries wait"
    assert browser.read(request)["path"] == "/"
    assert "Topic" not in request.headers


def test_two_browsers_of_one_person_read_their_own_messages_only(
    bobs: Person, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery
) -> None:
    other = Browser(browser.endpoint.replace("one", "two"))
    subscribed(bobs.user, browser)
    subscribed(bobs.user, other)
    make_delivery(at=NINE)

    assert work(NINE + MINUTE) + work(NINE + 2 * MINUTE) == 2

    by_path = {request.path: request for request in push_service.received}
    assert browser.read(by_path["/push/one"]) == other.read(by_path["/push/two"])
    with pytest.raises(InvalidTag):
        browser.read(by_path["/push/two"])


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_is_gone_is_suspended(
    bob: User, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery, status: int
) -> None:
    channel = subscribed(bob, browser)
    make_delivery(at=NINE)
    push_service.then(answering(status))

    assert work(NINE + MINUTE) == 0

    channel.refresh_from_db()
    assert channel.suspended_at == NINE + MINUTE
    assert work(NINE + DAY) == 0
    assert len(push_service.received) == 1


def test_a_push_service_is_asked_again_when_it_says(
    bob: User, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery
) -> None:
    subscribed(bob, browser)
    make_delivery(at=NINE)
    push_service.then(answering(429, Retry_After="600"))

    assert work(NINE + MINUTE) == 0
    assert sending.send_due(clock=lambda: NINE + 10 * MINUTE) == 0
    assert sending.send_due(clock=lambda: NINE + 11 * MINUTE) == 1


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example/push",
        "http://fcm.googleapis.com/push",
        "https://10.0.0.1/push",
        "https://localhost/push",
        "https://fcm.googleapis.com.evil.example/push",
        "https://evil.example/#fcm.googleapis.com",
        "https://fcm.googleapis.com@evil.example/push",
        "https://fcm.googleapis.com/" + "x" * 2_000,
        "file:///etc/passwd",
        "",
    ],
)
def test_other_addresses_are_refused(bobs: Person, endpoint: str) -> None:
    answer = turn_on(bobs, Browser(endpoint))

    assert answer.status_code == 422
    assert "does not know the push service" in text_of(answer)
    assert not Channel.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        "null",
        "[" * 3_000,
        "x" * 5_000,
        '{"endpoint": "https://fcm.googleapis.com/x"}',
        '{"endpoint": "https://fcm.googleapis.com/x", "keys": {"p256dh": "AAAA", "auth": "AAAA"}}',
        '{"endpoint": "https://fcm.googleapis.com/x", "keys": {"p256dh": "ü", "auth": 5}}',
    ],
)
def test_what_is_no_subscription_is_refused(bobs: Person, text: str) -> None:
    assert bobs.client.post(PAGE, {"subscription": text}).status_code == 422
    assert not Channel.objects.exists()


def test_keys_that_are_no_point_or_too_short_are_refused(bobs: Person) -> None:
    right = json.loads(Browser("https://fcm.googleapis.com/x").subscription)
    for name, value in {"p256dh": "B" + "A" * 86, "auth": "AAAA"}.items():
        content = {**right, "keys": {**right["keys"], name: value}}
        answer = bobs.client.post(PAGE, {"subscription": json.dumps(content)})
        assert answer.status_code == 422


def test_a_host_that_is_no_longer_allowed_is_not_asked(
    bobs: Person, browser: Browser, push_service: Receiver, settings: Any
) -> None:
    turn_on(bobs, browser)
    settings.WAKE_NOTIFICATION_HOSTS = set()

    answer = bobs.client.post(f"{LIST}{Channel.objects.get().pk}/test", follow=True)

    assert "Not sent" in text_of(answer)
    assert push_service.received == []


def test_there_are_at_most_ten_channels(bobs: Person, browser: Browser) -> None:
    for number in range(MAX_CHANNELS):
        subscribed(bobs.user, Browser(f"{browser.endpoint}-{number}"))

    answer = turn_on(bobs, browser)

    assert answer.status_code == 422
    assert "10 channels" in text_of(answer)


def test_turning_on_again_replaces_the_channel_of_this_browser(
    bobs: Person, browser: Browser
) -> None:
    turn_on(bobs, browser)
    turn_on(bobs, Browser(browser.endpoint + "-again"))

    assert "-again" in Channel.objects.get().address
    assert "Notifications are on" in text_of(bobs.get(PAGE))


def test_signing_out_turns_this_browser_off_and_no_other(bobs: Person, browser: Browser) -> None:
    other = subscribed(bobs.user, Browser(browser.endpoint + "-other"))
    turn_on(bobs, browser)

    bobs.client.post("/logout/")

    assert Channel.objects.get() == other


def test_signing_out_everywhere_turns_the_other_browsers_off(
    bobs: Person, browser: Browser
) -> None:
    subscribed(bobs.user, Browser(browser.endpoint + "-other"))
    turn_on(bobs, browser)

    bobs.client.post("/settings/security/everywhere")

    assert Channel.objects.get().address == KIND.check(browser.subscription)


def test_signing_out_one_other_browser_turns_it_off(bobs: Person, browser: Browser) -> None:
    lost = Person(bobs.user)
    turn_on(lost, Browser(browser.endpoint + "-lost"))
    turn_on(bobs, browser)
    (other,) = [
        each.mark
        for each in sessions.sign_ins(bobs.user, here=bobs.client.session, at=timezone.now())
        if not each.is_here
    ]

    bobs.client.post("/settings/security/elsewhere", {"browser": other})

    assert Channel.objects.get().address == KIND.check(browser.subscription)


def test_another_password_turns_the_other_browsers_off(bobs: Person, browser: Browser) -> None:
    bobs.user.set_password("correct horse battery")
    bobs.user.save()
    bobs.client.force_login(bobs.user)
    subscribed(bobs.user, Browser(browser.endpoint + "-other"))
    turn_on(bobs, browser)
    new = "wrong horse, other battery"

    bobs.client.post(
        "/settings/password/",
        {
            "old_password": "correct horse battery",
            "new_password1": new,
            "new_password2": new,
        },
        page="/settings/profile/",
    )

    assert Channel.objects.get().address == KIND.check(browser.subscription)


def test_a_password_that_was_reset_turns_all_browsers_off(bobs: Person, browser: Browser) -> None:
    turn_on(bobs, browser)
    visitor, uid = Client(), urlsafe_base64_encode(str(bobs.user.pk).encode())
    link = f"/login/reset/{uid}/{password_resets.tokens.make_token(bobs.user)}/"
    form = visitor.get(link)["Location"]
    new = "wrong horse, other battery"

    visitor.post(form, {"new_password1": new, "new_password2": new})

    assert not Channel.objects.exists()


def test_a_person_who_was_deactivated_is_told_nothing(
    bob: User, browser: Browser, push_service: Receiver, make_delivery: MakeDelivery
) -> None:
    subscribed(bob, browser)
    make_delivery(at=NINE)
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert work(NINE + MINUTE) == 0
    assert push_service.received == []


def test_another_persons_browser_is_not_there(
    bobs: Person, alices: Person, browser: Browser
) -> None:
    turn_on(bobs, browser)
    path = f"{LIST}{Channel.objects.get().pk}/"

    assert alices.client.get(path).status_code == 404
    assert alices.client.post(f"{path}remove").status_code == 404
    assert alices.client.post(f"{path}test").status_code == 404
    assert Channel.objects.exists()


def test_the_key_is_made_once_and_encrypted(db: None) -> None:
    assert vapid.public_key() == vapid.public_key()
    assert PushKey.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT private_key FROM inbox_pushkey")
        assert "PRIVATE KEY" not in cursor.fetchone()[0]


def test_without_the_encryption_key_the_page_says_so(bobs: Person) -> None:
    vapid.public_key()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE inbox_pushkey SET private_key = %s", ["\x01fernet:lost"])

    assert "Browser notifications aren't available on this server" in text_of(bobs.get(PAGE))


def test_the_page_needs_a_person(db: None) -> None:
    assert Client().get(PAGE).status_code == 302
