"""A person links their Slack account while signed in, by a code that the bot sends."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from accounts.audit import person
from accounts.models import AuditEvent, User
from accounts.sign_in.browsers import session_names
from database.clock import database_now
from inbox.models import Channel, NotificationRule
from inbox.notifications.channels import channels
from inbox.notifications.channels.channel_views import TOO_MANY_CODES, WRONG_CODE
from inbox.notifications.channels.limits import LINK_CODES
from tests.inbox.notifications.slack.conftest import MEMBER, Slack, answering
from tests.inbox.person import Person, text_of
from tests.stress.concurrency.threads import at_once

ADD = "/settings/notifications/add/?kind=slack_app"


def link(who: Person, slack: Slack) -> Any:
    slack.api.behaviours.append(answering('{"ok":true}'))
    who.client.post(ADD, {"name": "Slack", "address": MEMBER.lower()}, follow=True)
    (code,) = re.findall(r"\d{6}", slack.last["text"])
    channel = Channel.objects.get(user=who.user)
    return who.client.post(f"/settings/notifications/{channel.pk}/", {"code": code}, follow=True)


def test_the_code_links_the_account(bobs: Person, slack: Slack) -> None:
    answer = link(bobs, slack)

    assert "Verified." in text_of(answer)
    channel = Channel.objects.get()
    assert (channel.address, channel.user) == (MEMBER, bobs.user)
    assert channel.verified_at is not None
    assert slack.last["channel"] == MEMBER
    events = AuditEvent.objects.filter(object_id=str(channel.pk)).values_list("event", flat=True)
    assert {"channel.added", "channel.verified"} <= set(events)


def test_linking_asks_for_the_password(bobs: Person, slack: Slack) -> None:
    session = bobs.client.session
    session[session_names.PASSWORD] = (database_now() - timedelta(hours=1)).timestamp()
    session.save()

    answer = bobs.client.get(ADD)

    assert answer.status_code == 303
    assert answer["Location"].startswith("/sudo/")
    assert bobs.client.post(ADD, {"name": "Slack", "address": MEMBER}).status_code == 303
    assert not Channel.objects.exists()


def test_an_account_is_linked_to_one_person(bobs: Person, slack: Slack, alice: User) -> None:
    at = database_now()
    other = Channel.objects.create(
        user=alice, kind="slack_app", name="S", address=MEMBER, created_at=at, verified_at=at
    )
    NotificationRule.objects.create(channel=other, since=at)

    answer = link(bobs, slack)

    assert "is linked to another person" in text_of(answer)
    assert Channel.objects.get(user=bobs.user).verified_at is None


def test_a_refusal_of_slack_is_shown(bobs: Person, slack: Slack) -> None:
    slack.api.behaviours.append(answering('{"ok":false,"error":"user_not_found"}'))

    answer = bobs.client.post(ADD, {"name": "Slack", "address": MEMBER}, follow=True)

    assert "Slack refused the message (user_not_found)." in text_of(answer)


def test_it_is_offered_only_where_it_is_set_up(bobs: Person, settings: Any) -> None:
    settings.WAKE_SLACK_BOT_TOKEN = ""

    assert "Slack with buttons" not in text_of(bobs.get("/settings/notifications/"))
    assert bobs.client.get(ADD).status_code == 404


def test_tries_are_few_for_all_codes_of_a_day(bobs: Person, slack: Slack) -> None:
    slack.api.behaviours.append(answering('{"ok":true}'))
    bobs.client.post(ADD, {"name": "Slack", "address": MEMBER}, follow=True)
    page = f"/settings/notifications/{Channel.objects.get().pk}/"

    for _ in range(LINK_CODES.attempts):
        assert WRONG_CODE in text_of(bobs.client.post(page, {"code": "wrong"}))
    answer = bobs.client.post(page, {"code": "wrong"})

    assert (answer.status_code, TOO_MANY_CODES in text_of(answer)) == (422, True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", range(3))
def test_two_people_cannot_link_one_account_at_once(bob: User, alice: User, turn: int) -> None:
    at = database_now()
    fields = {"kind": "slack_app", "name": "S", "address": MEMBER, "created_at": at}
    for user in (bob, alice):
        channel = Channel.objects.create(user=user, code_sent_at=at, **fields)
        NotificationRule.objects.create(channel=channel, since=at)

    def verify(user: User) -> bool:
        channel = Channel.objects.get(user=user)
        try:
            return channels.verify(channel, channels._code(channel, at), by=person(user), at=at)
        except channels.LinkedElsewhere:
            return False

    assert sorted(at_once(lambda: verify(bob), lambda: verify(alice))) == [False, True]
