"""The jobs of notifications start while they have rows."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import User
from inbox.models import NotificationRule, SlackReply
from inbox.notifications.channels import recording
from tests.fixtures.due_jobs import jobs_with_rows
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery

NINE = utc("2026-11-02 09:00")
MINUTE = timedelta(minutes=1)
RECORD, SEND = "inbox.jobs.note_notifications", "inbox.jobs.send_due_notifications"
REPLY = "inbox.jobs.send_due_slack_replies"


def test_a_delivery_is_recorded_and_a_minute_later_sent(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_channel(bob, at=NINE - MINUTE)
    make_delivery(at=NINE)

    new = jobs_with_rows(NINE)
    recording.record_new(at=NINE)
    recorded, due = jobs_with_rows(NINE), jobs_with_rows(NINE + MINUTE)
    work(NINE + MINUTE)

    assert {RECORD, SEND} & new == {RECORD}
    assert {RECORD, SEND} & recorded == set()
    assert {RECORD, SEND} & due == {SEND}
    assert not {RECORD, SEND} & jobs_with_rows(NINE + MINUTE)


def test_a_digest_of_a_channel(bob: User, make_channel: MakeChannel) -> None:
    make_channel(bob, at=NINE - MINUTE)
    NotificationRule.objects.update(next_digest_at=NINE)

    assert RECORD not in jobs_with_rows(NINE - MINUTE)
    assert RECORD in jobs_with_rows(NINE)


def test_a_reply_to_slack(db: None) -> None:
    SlackReply.objects.create(url="https://hooks.slack.com/x", due_at=NINE)

    assert REPLY not in jobs_with_rows(NINE - MINUTE)
    assert REPLY in jobs_with_rows(NINE)
