"""A digest has three counts and headlines, and is sent once at the chosen hour."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Any

from django.core import mail
from django.urls import resolve

from accounts.models import User
from inbox.models import Preferences
from inbox.notifications import digests
from inbox.preferences.preferences import change_preferences
from inbox.reading import snoozes
from tests.fixtures.agent_client import AgentClient
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery, Prefer

NINE = utc("2026-11-02 09:00")  # a Monday
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def send(at: datetime) -> int:
    return digests.send_due(clock=lambda: at)


def _row(user: User) -> Preferences:
    return Preferences.objects.get(user=user)


def _html(message: Any) -> str:
    (alternative,) = message.alternatives
    return str(alternative[0])


def test_a_digest_has_three_counts_and_the_headlines(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE - HOUR, type="question", headline="Two options", timeout_seconds=9000)
    make_delivery(at=NINE - HOUR, headline="Market report")
    make_delivery(at=NINE - HOUR, type="update", headline="Indexing done")
    prefer(bob, due=NINE)

    assert send(NINE) == 1

    (message,) = mail.outbox
    assert message.to == ["bob@example.com"]
    assert message.subject == "Wake: 2 deliveries need you, 1 deadline soon"
    assert message.body.splitlines()[:3] == [
        "2 deliveries need you",
        "1 deadline before tomorrow at 09:00",
        "1 update to read",
    ]
    for words in (
        "Two options",
        "goes ahead without you at 10:30",
        "Market report",
        "Indexing done",
    ):
        assert message.body.count(words) == 1
        assert _html(message).count(words) == 1


def test_the_times_in_a_digest_are_in_the_persons_time_zone(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    bob.time_zone = "America/New_York"
    bob.save(update_fields=["time_zone"])
    make_delivery(at=utc("2026-11-02 14:00"), timeout_seconds=3600)
    prefer(bob, due=utc("2026-11-02 14:00"))

    send(utc("2026-11-02 14:00"))

    assert "1 deadline before tomorrow at 09:00" in mail.outbox[0].body
    assert "goes ahead without you at 10:00" in mail.outbox[0].body


def test_the_links_of_a_digest_only_open_pages(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery, settings: Any
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)

    send(NINE)

    (message,) = mail.outbox
    links = re.findall(r"https?://[^\s\"<>]+", message.body + _html(message))
    names = {resolve(link.removeprefix(settings.WAKE_ORIGIN)).url_name for link in links}
    assert names == {"inbox", "delivery", "settings-digest"}
    assert message.extra_headers["List-Unsubscribe"] == f"<{settings.WAKE_ORIGIN}/settings/digest/>"
    assert "List-Unsubscribe-Post" not in message.extra_headers


def test_a_headline_becomes_neither_markup_nor_link_nor_header(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, headline="<b>Sign in</b> at https://evil.example/x or me@evil.example")
    make_delivery(at=NINE, headline="Paid \u202egnp.exe in v2.4")
    prefer(bob, due=NINE)

    send(NINE)

    (message,) = mail.outbox
    assert "<b>" not in _html(message)
    assert "<b>Sign in</b> at https[:]//evil[.]example/x or me[@]evil[.]example" in message.body
    assert "Paid ⟨U+202E⟩gnp[.]exe in v2.4" in message.body
    assert "evil" not in message.subject


def test_an_empty_digest_is_not_sent_and_the_next_is_planned(bob: User, prefer: Prefer) -> None:
    prefer(bob, due=NINE)

    assert send(NINE) == 0

    assert mail.outbox == []
    assert _row(bob).next_digest_at == NINE + DAY
    assert _row(bob).digest_sent_at is None


def test_test_and_snoozed_deliveries_are_not_counted(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery, in_test_mode: AgentClient
) -> None:
    in_test_mode.deliver()
    snoozes.snooze(make_delivery(at=NINE), by=bob, until=NINE + HOUR, at=NINE)
    prefer(bob, due=NINE)

    assert send(NINE) == 0


def test_answered_deliveries_are_not_in_a_digest(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery, answer: Callable[..., object]
) -> None:
    answer(make_delivery())
    prefer(bob, due=NINE)

    assert send(NINE) == 0


def test_another_teams_deliveries_are_not_in_it(
    mallory: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(mallory, due=NINE)

    assert send(NINE) == 0


def test_a_readers_digest_has_updates_only(
    rita: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, headline="Needs an answer", timeout_seconds=600)
    make_delivery(at=NINE, type="update", headline="Indexing done")
    prefer(rita, due=NINE)

    send(NINE)

    (message,) = mail.outbox
    assert message.subject == "Wake: 1 update to read"
    assert "Needs an answer" not in message.body


def test_a_long_list_says_how_many_more_there_are(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    for number in range(12):
        make_delivery(at=NINE, headline=f"Report {number}")
    prefer(bob, due=NINE)

    send(NINE)

    assert "12 deliveries need you" in mail.outbox[0].body
    assert "and 2 more" in mail.outbox[0].body
    assert mail.outbox[0].body.count("- Report") == 10


def test_a_daily_digest_is_repeated_while_something_waits(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)

    assert [send(NINE), send(NINE), send(NINE + 12 * HOUR), send(NINE + DAY)] == [1, 0, 0, 1]


def test_a_frequent_digest_without_news_is_not_sent(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE, digest="hours", digest_hours=4)

    first, same_again = send(NINE), send(NINE + 4 * HOUR)
    make_delivery(at=NINE + 5 * HOUR)
    news = send(NINE + 8 * HOUR)

    assert (first, same_again, news) == (1, 0, 1)


def test_every_few_hours_a_deadline_before_the_next_digest_is_reported(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, timeout_seconds=7 * 3600)
    prefer(bob, due=NINE, digest="hours", digest_hours=4)

    assert [send(NINE), send(NINE + 4 * HOUR), send(NINE + 8 * HOUR)] == [1, 1, 0]


def test_in_quiet_hours_it_waits_until_they_are_over(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE, quiet_from=time(8), quiet_until=time(11))

    assert send(NINE + HOUR) == 0
    assert _row(bob).next_digest_at == NINE + 2 * HOUR
    assert send(NINE + 2 * HOUR) == 1
    assert _row(bob).next_digest_at == NINE + DAY + 2 * HOUR


def test_a_person_without_preferences_gets_the_default_digest(
    bob: User, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)

    assert send(NINE - HOUR) == 0
    assert _row(bob).next_digest_at == NINE
    assert send(NINE) == 1


def test_a_person_who_chose_never_gets_no_digest(bob: User, make_delivery: MakeDelivery) -> None:
    make_delivery(at=NINE)
    change_preferences(bob, at=NINE - HOUR, digest=Preferences.Digest.NEVER)

    assert [send(NINE), send(NINE + 30 * DAY)] == [0, 0]


def test_an_inactive_person_gets_no_digest(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert send(NINE) == 0


def test_without_a_mail_server_no_digest_counts_as_sent(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery, settings: Any
) -> None:
    settings.WAKE_SENDS_MAIL = False
    make_delivery(at=NINE)
    prefer(bob, due=NINE)

    assert send(NINE) == 0
    assert _row(bob).next_digest_at == NINE
