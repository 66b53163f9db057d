"""Carries out the press of a button in Slack, with the same functions as the pages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.access.objects import NotAllowed
from accounts.models import User
from accounts.sign_in.two_step import second_factor
from database.uuids import NIL, uuid_or_none
from inbox.models import Channel, SlackReply, SlackRequest
from inbox.models.slack import LONGEST_NOTE
from inbox.notifications.channels.kinds.addresses import check_url
from inbox.notifications.channels.kinds.kind import BadAddress
from inbox.notifications.channels.kinds.slack_app import NAME, NEEDS_PASSKEY, can_answer_here
from inbox.reading.in_sight import first_opened
from wake.models import Delivery, Place, Response, Sight
from wake.responses import AlreadyAnswered, ContentChanged, NeedsPasskey, respond
from wake.undo import PickedUp, take_back

# A message with buttons prints these texts whole.
SHOWN = ("headline", "summary")
HOSTS = ["hooks.slack.com", "hooks.slack-gov.com"]
A_SECOND = timedelta(seconds=1)
SEEN_FOR = timedelta(hours=1)
ANSWERS = {"approved", "rejected"}
NOT_LINKED = "This Slack account is not linked to Wake. Link it in Wake: Settings, Notifications."
OWES = "Your team requires two-step sign-in. Open Wake and set it up first."
NOT_THERE = "This delivery is no longer in your inbox."
CHANGED = "The agent sent a new version. Open it in Wake."
LATE = "The deadline has passed. Open it in Wake to answer all the same."
OPEN = "Open it in Wake to answer."
IRREVERSIBLE = "This action is irreversible. Open it in Wake to answer."
SENT = "The answer was sent to the agent and cannot be undone."
NOTHING_TO_UNDO = "There is no answer to undo."


class Repeated(Exception):
    """This request came before."""


class Foreign(Exception):
    """This press is from another workspace."""


@dataclass(frozen=True, slots=True)
class Press:
    """Describes one press of a button, as Slack reports it (block_actions)."""

    action: str
    value: str
    member: str
    workspaces: frozenset[str]
    response_url: str

    @classmethod
    def read(cls, payload: Any) -> Press | None:
        """Reads a press of one of our buttons. Returns None for anything else."""
        match payload:
            case {
                "type": "block_actions",
                "user": {"id": str(member), **user},
                "team": {"id": str(workspace)},
                "actions": [{"action_id": str(action), "value": str(value)}],
                "response_url": str(url),
            } if action in {*ANSWERS, "undo"}:
                home = str(user.get("team_id", workspace))
                return cls(action, value, member, frozenset({workspace, home}), url)
        return None


@transaction.atomic
def press(pressed: Press, *, signature: str, at: datetime) -> None:
    """Answers or undoes once, and queues the message's new text. Raises Foreign and Repeated."""
    if pressed.workspaces != {settings.WAKE_SLACK_WORKSPACE}:
        raise Foreign(Foreign.__doc__)
    _count_once(signature, at=at)
    channel, delivery_id, about = _named(pressed)
    if channel is None or channel.user is None or delivery_id is None:
        _queue(pressed, note=NOT_LINKED, at=at)
        return
    if _owes_second_factor(channel.user):
        _queue(pressed, note=OWES, at=at)
        return
    own_deliveries = Delivery.objects.for_person(channel.user.pk).select_related("team")
    delivery = own_deliveries.filter(pk=delivery_id).first()
    if delivery is None:
        _queue(pressed, note=NOT_THERE, at=at)
        return
    note = _do(pressed.action, delivery, by=channel.user, about=about, at=at)
    _queue(pressed, note=note, channel=channel, delivery=delivery, at=at)
    held = Response.objects.held().filter(delivery=delivery, by=channel.user).first()
    if held is not None:
        over_at = held.release_at + A_SECOND  # at this time, the message loses its Undo
        _queue(pressed, channel=channel, delivery=delivery, at=over_at)


def forget_old(*, at: datetime) -> None:
    """Removes requests that are too old to be accepted again."""
    SlackRequest.objects.filter(received_at__lt=at - SEEN_FOR).delete()


def _count_once(signature: str, *, at: datetime) -> None:
    key = hashlib.sha256(signature.encode()).hexdigest()
    try:
        with transaction.atomic():
            SlackRequest.objects.create(key=key, received_at=at)
    except IntegrityError:
        raise Repeated(Repeated.__doc__) from None


def _named(pressed: Press) -> tuple[Channel | None, UUID | None, str]:
    """Returns three things: the channel of the message if it is still linked to the member who
    pressed, the delivery, and the subject of the button. The subject is the delivery's content with
    the text of the message, or the answer to undo."""
    try:
        channel_id, delivery_id, about = pressed.value.split("|", 2)
        ids = UUID(channel_id), UUID(delivery_id)
    except ValueError:
        return None, None, ""
    rows = Channel.objects.filter(pk=ids[0], kind=NAME, verified_at__isnull=False)
    channel = rows.select_related("user").filter(user__is_active=True).first()
    if channel is None or channel.address != pressed.member:
        return None, None, ""
    return channel, ids[1], about


def _owes_second_factor(user: User) -> bool:
    """Returns whether this person must set up a second factor before they can open pages."""
    (found,) = second_factor.with_owed(User.objects.filter(pk=user.pk))
    return bool(found.owes_second_factor)  # type: ignore[attr-defined]  # annotated


def _do(action: str, delivery: Delivery, *, by: User, about: str, at: datetime) -> str:
    """Returns the message for the person, if the action failed."""
    try:
        if action == "undo":
            named = Response.objects.filter(
                pk=uuid_or_none(about) or NIL, delivery=delivery, by=by
            ).first()
            if named is None:
                return NOTHING_TO_UNDO  # the answer was undone before, or belongs to another person
            take_back(delivery, by=by, only=named.pk, place=Place.SLACK, at=at)
            return ""
        return _answer(action, delivery, by=by, about=about, at=at)
    except NeedsPasskey:
        return NEEDS_PASSKEY
    except (NotAllowed, AlreadyAnswered) as reason:
        return str(reason)
    except ContentChanged:
        return CHANGED
    except PickedUp:
        return SENT
    except Response.DoesNotExist:
        return NOTHING_TO_UNDO


def _answer(status: str, delivery: Delivery, *, by: User, about: str, at: datetime) -> str:
    """Checks again that the message showed everything, because a message of an earlier version did
    not."""
    content_hash, _, message_hash = about.partition("|")
    if delivery.answered_at is None:
        if delivery.superseded_at is not None or delivery.content_hash != content_hash:
            return CHANGED
        if delivery.is_past_deadline(at):
            return LATE
        if delivery.must_be_signed:
            return NEEDS_PASSKEY
        if not message_hash or not can_answer_here(delivery):
            return IRREVERSIBLE if delivery.irreversible else OPEN
    opened_at = first_opened([delivery.pk], by=by).get(delivery.pk)
    sight = Sight(Place.SLACK, (), shown=SHOWN, message_hash=message_hash[:64], opened_at=opened_at)
    respond(delivery, by=by, status=status, content_hash=content_hash, sight=sight, at=at)
    return ""


def _queue(
    pressed: Press,
    *,
    note: str = "",
    channel: Channel | None = None,
    delivery: Delivery | None = None,
    at: datetime,
) -> None:
    """Accepts only Slack's hosts, even in a signed request."""
    try:
        url = check_url(pressed.response_url, hosts=HOSTS)
    except BadAddress:
        return
    note = note[:LONGEST_NOTE]
    SlackReply.objects.create(url=url, note=note, channel=channel, delivery=delivery, due_at=at)
