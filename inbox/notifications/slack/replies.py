"""Updates messages in Slack after a press, at the response address that came with the press."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse

from accounts.access.objects import teams_of
from database.clock import database_now
from database.sweeps import Lease
from inbox.models import Channel, SlackReply
from inbox.notifications.channels.kinds import slack_app
from inbox.notifications.channels.kinds.kind import ChannelPost
from inbox.notifications.channels.kinds.slack_webhook import Block, escape, text_block
from inbox.notifications.channels.transport import (
    FAILED_HERE,
    OpenClient,
    Prepared,
    open_client,
    post_all,
)
from inbox.reading.status_words import status_words
from pages.characters.invisible import reveal_value
from wake.models import Delivery, Response

log = logging.getLogger(__name__)

AT_ONCE = 20
LEASE = Lease("due_at", timedelta(minutes=1))
UNLINKED = "This Slack account is no longer linked to Wake."
# Slack takes five replies within half an hour.
BACK_OFF = [timedelta(seconds=seconds) for seconds in (5, 30, 300)]


def send_due(
    *, clock: Callable[[], datetime] = database_now, client: OpenClient = open_client
) -> int:
    """Sends due replies; returns how many arrived. The lease is committed before anything is
    sent."""
    at = clock()
    due = SlackReply.objects.due(at).select_related("channel__user", "delivery__agent")
    replies = LEASE.claim(due, at=at, at_once=AT_ONCE)
    posts = [_prepare(reply, at=clock()) for reply in replies]
    outcomes = post_all(posts, client=client) if posts else []
    for reply, outcome in zip(replies, outcomes, strict=True):
        _settle(reply, arrived=outcome.arrived, at=clock())
    return sum(outcome.arrived for outcome in outcomes)


def _prepare(reply: SlackReply, *, at: datetime) -> Prepared:
    """Prepares a reply. A reply cannot be prepared if the encryption key of its address, or of the
    channel's address, is missing. Such a reply does not hold back others."""
    try:
        return ChannelPost.json(reply.url, _content(reply, at=at))
    except Exception:
        log.exception("Reply %s to Slack cannot be prepared", reply.pk)
        return FAILED_HERE


def _settle(reply: SlackReply, *, arrived: bool, at: datetime) -> None:
    row = SlackReply.objects.filter(pk=reply.pk)
    if arrived or reply.tries >= len(BACK_OFF):
        row.delete()
    else:
        row.update(tries=reply.tries + 1, due_at=at + BACK_OFF[reply.tries])


def _content(reply: SlackReply, *, at: datetime) -> dict[str, Any]:
    """Returns the present facts for the message. Leaves out a delivery that the channel's person
    can no longer read."""
    channel, delivery = reply.channel, reply.delivery
    if channel is None or channel.user is None or delivery is None:
        text = escape(reply.note or UNLINKED)
        return {"response_type": "ephemeral", "replace_original": False, "text": text}
    if delivery.erased_at is not None or not _is_theirs(channel, delivery):
        text = "This delivery is no longer in your inbox."
        return {"replace_original": True, "text": text, "blocks": [text_block(text)]}
    response = Response.objects.filter(delivery=delivery).first()
    lines = [f"{reveal_value(delivery.agent.agent_id)}: {reveal_value(delivery.headline)}"]
    buttons: list[Block] = []
    if response is not None:
        answer = status_words(delivery.type, response.status)
        lines.append(f"{answer} by {reveal_value(response.by_name)}.")
        is_held = response.responded_at is None and response.release_at > at
        if is_held and response.by_id == channel.user_id:
            buttons.append(slack_app.undo_button(channel, response))
    elif not reply.note:
        whole = slack_app.whole_text(lines[0], delivery)
        if buttons := slack_app.answer_buttons(channel, delivery, whole):
            lines = [whole]
    if reply.note:
        lines.append(reply.note)
    url = settings.WAKE_ORIGIN + reverse("delivery", args=[delivery.pk])
    blocks = [
        text_block("\n".join(lines), is_whole=bool(buttons)),
        slack_app.buttons_block(*buttons, slack_app.open_button(url)),
    ]
    return {"replace_original": True, "text": escape("\n".join(lines)), "blocks": blocks}


def _is_theirs(channel: Channel, delivery: Delivery) -> bool:
    user = channel.user
    if user is None or not user.is_active:
        return False
    return teams_of(user).filter(pk=delivery.team_id).exists()
