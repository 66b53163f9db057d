"""A person adds a channel, verifies it, chooses its events, tests it and removes it."""

from __future__ import annotations

import re
from datetime import time, timedelta
from typing import Any

import pytest
from django.core import mail

from accounts.models import Agent, AuditEvent, Membership, Team, User
from database.clock import database_now
from inbox.models import Channel, ChannelEvent, NotificationRule
from inbox.notifications.channels import transport
from inbox.notifications.channels.channels import CODE_LASTS, MAX_CHANNELS, MAX_TRIES
from tests.fixtures.occupied import occupied
from tests.inbox.notifications.channels.conftest import MakeChannel
from tests.inbox.person import Person, text_of
from tests.wake.callbacks.receiver import Receiver, answering

LIST = "/settings/notifications/"


def add(who: Person, kind: str, path: str = f"{LIST}add/", **fields: Any) -> Any:
    return who.client.post(f"{path}?kind={kind}", {"name": "Mine", **fields}, follow=True)


def page_of(channel: Channel, action: str = "") -> str:
    return f"{LIST}{channel.pk}/{action}"


def act(
    who: Person, channel: Channel, action: str = "", *, by_hand: bool = False, **fields: Any
) -> Any:
    return who.client.post(page_of(channel, action), fields, follow=True, by_hand=by_hand)


def code_in(receiver: Receiver) -> str:
    return str(receiver.received[-1].json["code"])


def test_nothing_is_on_by_default(bobs: Person) -> None:
    text = text_of(bobs.get(LIST))

    assert "You have no channels yet." in text
    assert "Only team owners can change them." in text
    assert not Channel.objects.exists()


def test_mail_to_ones_own_address_needs_no_code(bobs: Person) -> None:
    answer = add(bobs, "email")

    assert "Add channel" in text_of(bobs.get(f"{LIST}add/", kind="email"))
    assert "Added. Choose what it sends you." in text_of(answer)
    assert "Remove channel" in text_of(answer)
    channel = Channel.objects.get()
    assert channel.verified_at is not None
    assert channel.rule.events == []
    assert "already" in text_of(add(bobs, "email"))
    act(bobs, channel, "test")
    assert mail.outbox[0].to == [bobs.user.email]
    assert mail.outbox[0].subject == "Wake: This is a test. Notifications arrive here."


def test_a_webhook_is_verified_by_the_code_that_arrives_there(
    bobs: Person, inbox_of_chat: Receiver
) -> None:
    answer = add(bobs, "webhook", address=inbox_of_chat.url)
    channel = Channel.objects.get()

    assert "We sent a code to Mine." in text_of(answer)
    assert channel.secret in text_of(answer)
    assert "This is not the code" in text_of(act(bobs, channel, code="000000x"))
    assert "Verified." in text_of(act(bobs, channel, code=code_in(inbox_of_chat)))
    page = text_of(bobs.get(page_of(channel)))
    assert channel.secret not in page
    assert inbox_of_chat.url not in page
    saved = act(
        bobs, channel, name="Ops", events=["question", "alert"], only_assigned="on", agents=[]
    )
    assert "Saved." in text_of(saved)
    channel = Channel.objects.get()
    assert (channel.name, channel.rule.events) == ("Ops", ["question", "alert"])
    assert "Questions, alerts, only deliveries assigned to me" in text_of(bobs.get(LIST))
    events = AuditEvent.objects.filter(event__startswith="channel.").order_by("pk")
    assert list(events.values_list("event", flat=True)) == [
        "channel.added",
        "channel.verified",
        "channel.changed",
    ]


def test_a_token_that_no_header_can_carry_is_refused(bobs: Person, inbox_of_chat: Receiver) -> None:
    answer = add(bobs, "ntfy", address=f"{inbox_of_chat.url}topic", extra="schlüssel")

    assert "Use ASCII letters, digits and symbols only." in text_of(answer)
    assert not Channel.objects.exists()


def test_a_code_has_few_tries_and_an_end(bobs: Person, inbox_of_chat: Receiver) -> None:
    add(bobs, "webhook", address=inbox_of_chat.url)
    channel = Channel.objects.get()
    for _ in range(MAX_TRIES):
        act(bobs, channel, code="wrong")

    refused = act(bobs, channel, code=code_in(inbox_of_chat))
    assert "or it was tried too often. Send a new one." in text_of(refused)
    assert Channel.objects.get().verified_at is None

    act(bobs, channel, "code")
    fresh = code_in(inbox_of_chat)
    Channel.objects.update(code_sent_at=database_now() - CODE_LASTS - timedelta(seconds=1))
    act(bobs, channel, code=fresh)
    assert Channel.objects.get().verified_at is None


def test_the_page_says_whether_a_code_was_sent(bobs: Person, inbox_of_chat: Receiver) -> None:
    inbox_of_chat.then(answering(403))
    refused = text_of(add(bobs, "webhook", address=inbox_of_chat.url))
    channel = Channel.objects.get()
    sent = text_of(act(bobs, channel, "code"))
    code = code_in(inbox_of_chat)
    with occupied(transport._slots):
        busy = text_of(act(bobs, channel, "code"))

    assert "The last code couldn't be sent. Send a new code." in refused
    assert "Enter the code" not in refused
    assert "Enter the code that we sent there." in sent
    assert "could not be sent" not in sent
    assert "Another test is running." in busy
    assert "Enter the code that we sent there." in busy
    assert "Verified." in text_of(act(bobs, channel, code=code))


def test_without_a_code_the_page_asks_for_none(bobs: Person, inbox_of_chat: Receiver) -> None:
    add(bobs, "webhook", address=inbox_of_chat.url)
    for _ in range(9):
        act(bobs, Channel.objects.get(), "code")
    Channel.objects.all().delete()

    page = text_of(add(bobs, "webhook", address=inbox_of_chat.url))

    assert re.search(r"Too many codes\. Try again in \d+ s\.", page)
    assert "No code was sent there yet." in page
    assert "Enter the code" not in page


def test_an_unverified_channel_can_neither_be_tested_nor_chosen_for(
    bobs: Person, inbox_of_chat: Receiver
) -> None:
    add(bobs, "webhook", address=inbox_of_chat.url)
    channel = Channel.objects.get()

    act(bobs, channel, "test", by_hand=True)
    act(bobs, channel, name="Ops", events=["question"])

    assert len(inbox_of_chat.received) == 1
    assert Channel.objects.get().rule.events == []


def test_a_test_says_what_came_of_it(
    bob: User, bobs: Person, make_channel: MakeChannel, inbox_of_chat: Receiver
) -> None:
    channel = make_channel(bob, at=database_now())
    inbox_of_chat.then(answering(403))

    refused = text_of(act(bobs, channel, "test"))
    arrived = text_of(act(bobs, channel, "test"))

    assert "The server refused the message (HTTP 403)." in refused
    assert "Sent. Look at My webhook." in arrived


def test_a_suspended_channel_works_again_after_a_test(
    bob: User, bobs: Person, make_channel: MakeChannel
) -> None:
    now = database_now()
    past = {"failing_since": now, "suspended_at": now, "error": "HTTP 410", "failures": 5}
    channel = make_channel(bob, at=now, **past)

    assert "The channel My webhook is suspended: HTTP 410" in text_of(bobs.get("/settings/"))
    page = text_of(bobs.get(page_of(channel)))
    assert "Nothing has been sent here since" in page
    assert "HTTP 410. Send a test" in page
    act(bobs, channel, "test")

    channel = Channel.objects.get()
    assert (channel.suspended_at, channel.failing_since, channel.error) == (None, None, "")
    assert "suspended" not in text_of(bobs.get("/settings/"))


def test_tests_are_limited(
    bob: User, bobs: Person, make_channel: MakeChannel, inbox_of_chat: Receiver
) -> None:
    channel = make_channel(bob, at=database_now())

    pages = [text_of(act(bobs, channel, "test")) for _ in range(21)]

    assert any("Too many tests." in page for page in pages)
    assert len(inbox_of_chat.received) <= 20


def test_a_person_removes_a_channel(bob: User, bobs: Person, make_channel: MakeChannel) -> None:
    channel = make_channel(bob, at=database_now())

    act(bobs, channel, "remove")

    assert not Channel.objects.exists()


def test_a_person_has_a_few_channels(bobs: Person, make_channel: MakeChannel, bob: User) -> None:
    for _ in range(MAX_CHANNELS):
        make_channel(bob, at=database_now())

    assert "10 channels, which is the most" in text_of(add(bobs, "email"))


@pytest.mark.parametrize("kind", ["pigeon", "", "../email"])
def test_an_unknown_kind_is_not_there(kind: str, bobs: Person) -> None:
    assert bobs.get(f"{LIST}add/", kind=kind).status_code == 404


def test_a_bad_address_is_said_in_the_form(bobs: Person) -> None:
    answer = add(bobs, "slack_webhook", address="https://evil.example/")

    assert answer.status_code == 422
    assert "Enter a URL of hooks.slack.com" in text_of(answer)


def test_owners_add_a_channel_of_the_team(
    alices: Person, bobs: Person, team: Team, agent: Agent, inbox_of_chat: Receiver
) -> None:
    path = f"{LIST}teams/{team.slug}/add/"
    add(alices, "webhook", path, address=inbox_of_chat.url)
    channel = Channel.objects.get()
    act(alices, channel, code=code_in(inbox_of_chat))

    page = text_of(alices.get(page_of(channel)))
    assert "Notify the team about" in page
    assert "assigned to me" not in page
    act(alices, channel, name="Team", events=["alert"], agents=[str(agent.pk)])
    assert Channel.objects.get().rule.agents == [str(agent.pk)]
    assert "Alerts, of 1 agent" in text_of(bobs.get(LIST))
    for answer in (bobs.get(page_of(channel)), bobs.client.post(page_of(channel, "remove"))):
        assert answer.status_code == 403
    assert alices.get(path, kind="email").status_code == 404
    assert bobs.get(path).status_code == 403


def test_owners_give_a_teams_channel_quiet_hours_and_a_limit(
    alice: User, alices: Person, team: Team, make_channel: MakeChannel
) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Europe/Berlin")
    channel = make_channel(team, at=database_now(), added_by=alice)
    assert "Times are in Europe/Berlin." in text_of(alices.get(page_of(channel)))

    night: dict[str, Any] = {
        "quiet_from": "22:00",
        "quiet_until": "07:00",
        "quiet_days": ["0", "4"],
    }
    saved = act(alices, channel, name="Ops", events=["alert"], most_an_hour="3", **night)

    assert "Saved." in text_of(saved)
    rule = NotificationRule.objects.get()
    assert (rule.quiet_from, rule.quiet_until, rule.quiet_days) == (time(22), time(7), "04")
    assert rule.most_an_hour == 3
    assert b'value="22:00"' in saved.content
    act(alices, channel, name="Ops", events=["alert"])
    emptied = NotificationRule.objects.get()
    assert (emptied.quiet_from, emptied.quiet_until, emptied.most_an_hour) == (None, None, None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"quiet_from": "22:00"}, "Enter both times"),
        ({"quiet_from": "22:00", "quiet_until": "07:00"}, "Choose at least one day."),
        ({"quiet_from": "9", "quiet_until": "10"}, "Enter a time such as 09:00."),
        (
            {"quiet_from": "00:00", "quiet_until": "00:00", "quiet_days": list("0123456")},
            "These hours never end.",
        ),
        ({"most_an_hour": "0"}, "greater than or equal to 1"),
        ({"most_an_hour": "61"}, "less than or equal to 60"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    alices: Person, team: Team, make_channel: MakeChannel, fields: dict[str, Any], words: str
) -> None:
    channel = make_channel(team, at=database_now())

    refused = act(alices, channel, name="Ops", events=["alert"], **fields)

    assert words in text_of(refused)
    assert NotificationRule.objects.get().quiet_from is None


def test_a_person_has_one_limit_for_all_channels(
    bob: User, bobs: Person, make_channel: MakeChannel
) -> None:
    channel = make_channel(bob, at=database_now())

    act(bobs, channel, name="Mine", most_an_hour="9", quiet_from="22:00", quiet_until="07:00")

    rule = NotificationRule.objects.get()
    assert (rule.most_an_hour, rule.quiet_from) == (None, None)
    assert "Quiet from" not in text_of(bobs.get(page_of(channel)))


def test_agents_of_several_teams_are_named_with_their_team(
    alice: User, alices: Person, agent: Agent, second_team: Team, make_channel: MakeChannel
) -> None:
    Agent.objects.create(team=second_team, agent_id="picker")
    own, of_team = (make_channel(owner, at=database_now()) for owner in (alice, agent.team))

    assert "picker (Orchard)" in text_of(alices.get(page_of(own)))
    assert "picker" not in text_of(alices.get(page_of(of_team)))


def test_a_channel_stays_limited_to_agents_that_are_gone(
    alice: User, alices: Person, agent: Agent, second_team: Team, make_channel: MakeChannel
) -> None:
    """After the next save, the channel used to notify about all agents."""
    picker = Agent.objects.create(team=second_team, agent_id="picker")
    Agent.objects.create(team=agent.team, agent_id="other")
    channel = make_channel(alice, at=(at := database_now()))
    NotificationRule.objects.update(agents=[str(agent.pk), str(picker.pk)])
    Agent.objects.filter(pk=agent.pk).update(archived_at=at, paused_at=at)
    Membership.objects.filter(user=alice, team=second_team).delete()

    page = alices.get(page_of(channel))
    ticked = page.context["form"]["agents"].value()
    act(alices, channel, name="Mine", events=["alert"], agents=ticked)

    assert f"{agent.agent_id} (archived)" in text_of(page)
    assert "An agent that you can no longer see" in text_of(page)
    assert "picker" not in text_of(page)
    assert NotificationRule.objects.get().agents == [str(agent.pk), str(picker.pk)]


def test_the_channel_of_another_person_is_not_there(
    alices: Person, bob: User, make_channel: MakeChannel
) -> None:
    channel = make_channel(bob, at=database_now())

    assert alices.get(page_of(channel)).status_code == 404
    for action in ("", "code", "test", "remove"):
        assert alices.client.post(page_of(channel, action)).status_code == 404


def test_an_owner_who_was_removed_meanwhile_changes_nothing(
    alice: User, alices: Person, team: Team, make_channel: MakeChannel
) -> None:
    channel = make_channel(team, at=database_now())
    Membership.objects.filter(user=alice).update(role=Membership.Role.READER)

    assert act(alices, channel, "remove").status_code == 403
    assert Channel.objects.exists()


def test_an_address_whose_key_is_gone_is_not_shown(
    bob: User, bobs: Person, make_channel: MakeChannel, settings: Any
) -> None:
    channel = make_channel(bob, at=database_now())
    settings.WAKE_ENCRYPTION_KEYS = ["another key"]

    assert "cannot be shown" in text_of(bobs.get(LIST))
    assert bobs.get(page_of(channel)).status_code == 200
    assert "went wrong on our side" in text_of(act(bobs, channel, "test"))


def test_the_code_is_six_digits(bobs: Person, inbox_of_chat: Receiver) -> None:
    add(bobs, "webhook", address=inbox_of_chat.url)

    assert re.fullmatch(r"\d{6}", code_in(inbox_of_chat))
    assert inbox_of_chat.received[0].json["type"] == f"wake.{ChannelEvent.CODE}"
