"""Adds, verifies, changes and removes channels."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from accounts.audit import Actor, record
from accounts.models import Team, User
from inbox.models import Channel, ChannelEvent, NotificationRule, QuietHours
from inbox.notifications.channels.batches import own_message
from inbox.notifications.channels.digests import next_digest_of
from inbox.notifications.channels.kinds.kind import SendResult
from inbox.notifications.channels.kinds.registry import kind_of
from inbox.notifications.channels.message import ChannelMessage
from inbox.notifications.channels.sending import LONGEST_ERROR, record_result
from inbox.notifications.channels.transport import TestIsRunning, exchange_now, read

MAX_CHANNELS = 10
CODE_LASTS = timedelta(hours=1)
MAX_TRIES = 5
DIGITS = 6


class TooManyChannels(Exception):
    """There are 10 channels, which is the most. Remove one first."""


class AlreadyThere(Exception):
    """This channel is there already."""


class LinkedElsewhere(Exception):
    """This account is linked to another person's account in Wake. Remove it there first."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Names the owner of channels: a person or a team."""

    user: User | None = None
    team: Team | None = None

    @property
    def channels(self) -> QuerySet[Channel]:
        if self.team is not None:
            return Channel.objects.filter(team=self.team)
        return Channel.objects.filter(user=self.user)


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds when a team's channel is quiet, and its maximum of messages an hour; None means no
    limit."""

    quiet_hours: QuietHours | None = None
    most_an_hour: int | None = None


NO_LIMITS = Limits()


@transaction.atomic
def add(
    owner: Owner, *, kind: str, name: str, address: str, secret: str = "", by: Actor, at: datetime
) -> Channel:
    """Adds a channel that sends no events yet. Raises TooManyChannels and AlreadyThere."""
    _lock(owner)
    others = list(owner.channels)
    if len(others) >= MAX_CHANNELS:
        raise TooManyChannels(TooManyChannels.__doc__)
    if any(other.kind == kind and other.address == address for other in others):
        raise AlreadyThere(AlreadyThere.__doc__)
    described = kind_of(kind)
    channel = Channel.objects.create(
        user=owner.user,
        team=owner.team,
        kind=kind,
        name=name,
        address=address,
        secret=described.make_secret() if described.make_secret else secret,
        added_by_id=int(by.id),
        created_at=at,
        verified_at=at if described.needs_no_code else None,
    )
    NotificationRule.objects.create(channel=channel, since=at)
    _record("channel.added", channel, by=by, at=at, kind=kind, name=name)
    return channel


def send_code(channel: Channel, *, at: datetime) -> SendResult:
    """Sends a new code through the channel, and waits. Earlier codes are no longer valid. If the
    code could not be sent, stores the error for the channel's page. Raises transport.TestIsRunning
    before anything is changed."""
    message = own_message(channel, ChannelEvent.CODE, at=at, code=_code(channel, at))
    before = {"code_sent_at": channel.code_sent_at, "code_tries": channel.code_tries}
    unverified = Channel.objects.filter(pk=channel.pk, verified_at__isnull=True)
    unverified.update(code_sent_at=at, code_tries=0)
    try:
        result = _sent_now(channel, message)
    except TestIsRunning:
        unverified.filter(code_sent_at=at).update(**before)
        raise
    unverified.update(error=result.problem[:LONGEST_ERROR])
    return result


@transaction.atomic
def verify(channel: Channel, code: str, *, by: Actor, at: datetime) -> bool:
    """Returns whether this is the code that was sent last. A code allows a few tries, and is valid
    for an hour. Raises LinkedElsewhere."""
    if kind_of(channel.kind).links_account:
        _lock_all_of_kind(channel.kind)
    row = Channel.objects.select_for_update(no_key=True).get(pk=channel.pk)
    sent_at = row.code_sent_at
    if sent_at is None or at - sent_at > CODE_LASTS or row.code_tries >= MAX_TRIES:
        return False
    if not hmac.compare_digest(_code(row, sent_at).encode(), code.strip().encode()):
        row.code_tries += 1
        row.save(update_fields=["code_tries"])
        return False
    if kind_of(row.kind).links_account:
        _check_is_free(row)
    row.verified_at, row.code_sent_at, row.error = at, None, ""
    row.save(update_fields=["verified_at", "code_sent_at", "error"])
    NotificationRule.objects.filter(channel=row).update(since=at)
    _record("channel.verified", row, by=by, at=at)
    return True


@transaction.atomic
def readdress(channel: Channel, address: str, *, by: Actor, at: datetime) -> None:
    """Replaces the channel's address by a new address of the same place. The channel sends the same
    events as before. A suspended channel works again from now on."""
    Channel.objects.filter(pk=channel.pk).update(address=address)
    _resume(channel, at=at)
    _record("channel.renewed", channel, by=by, at=at, kind=channel.kind)


@transaction.atomic
def choose(
    channel: Channel,
    *,
    name: str,
    events: Sequence[str],
    agents: Sequence[str],
    only_assigned: bool,
    limits: Limits = NO_LIMITS,
    by: Actor,
    at: datetime,
) -> None:
    """Stores which events the channel sends from now on. Events that are queued are still sent."""
    Channel.objects.filter(pk=channel.pk).update(name=name)
    rule = NotificationRule.objects.select_for_update().get(channel=channel.pk)
    if not rule.events:
        rule.since = at
    rule.events, rule.agents, rule.only_assigned = list(events), list(agents), only_assigned
    rule.quiet_hours, rule.most_an_hour = limits.quiet_hours, limits.most_an_hour
    rule.next_digest_at = next_digest_of(rule, after=at)
    rule.save()
    _record("channel.changed", channel, by=by, at=at, events=list(events), agents=list(agents))


def send_test(channel: Channel, *, at: datetime) -> SendResult:
    """Sends a test, and waits. If the test arrives, a suspended channel works again from now on.
    Raises transport.TestIsRunning."""
    result = _sent_now(channel, own_message(channel, ChannelEvent.TEST, at=at))
    if result.arrived:
        _resume(channel, at=at)
    return result


@transaction.atomic
def remove(channel: Channel, *, by: Actor, at: datetime) -> None:
    """Removes the channel and its unsent notifications."""
    _record("channel.removed", channel, by=by, at=at, kind=channel.kind)
    Channel.objects.filter(pk=channel.pk).delete()


@transaction.atomic
def _resume(channel: Channel, *, at: datetime) -> None:
    row = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
    if row is None or not (row.failing_since or row.suspended_at or row.error):
        return
    if row.suspended_at is not None:
        NotificationRule.objects.filter(channel=row).update(since=at)
    row.suspended_at = None
    record_result(row, SendResult(), at=at)


def _sent_now(channel: Channel, message: ChannelMessage) -> SendResult:
    outcome = exchange_now(channel, message)
    with transaction.atomic():
        return read(channel, outcome)


def _lock_all_of_kind(kind: str) -> None:
    """Prevents two people from linking one account at the same moment."""
    rows = Channel.objects.filter(kind=kind).select_for_update(no_key=True)
    list(rows.order_by("pk").values_list("pk"))


def _check_is_free(channel: Channel) -> None:
    """Raises LinkedElsewhere if another person has the address. Compares the addresses one by one,
    because they are encrypted."""
    others = Channel.objects.filter(kind=channel.kind, verified_at__isnull=False)
    if any(other.address == channel.address for other in others.exclude(user=channel.user_id)):
        raise LinkedElsewhere(LinkedElsewhere.__doc__)


def _code(channel: Channel, sent_at: datetime) -> str:
    """Returns six digits, which only this server can compute."""
    digest = salted_hmac(f"channel {channel.pk}", sent_at.isoformat(), algorithm="sha256")
    return f"{int(digest.hexdigest(), 16) % 10**DIGITS:0{DIGITS}}"


def _lock(owner: Owner) -> None:
    """Prevents two channels from being added at the same time."""
    if owner.team is not None:
        Team.objects.select_for_update().get(pk=owner.team.pk)
    elif owner.user is not None:
        User.objects.select_for_update().get(pk=owner.user.pk)


def _record(event: str, channel: Channel, *, by: Actor, at: datetime, **detail: Any) -> None:
    record(event, by=by, of=channel, team=channel.team_id, at=at, **detail)
