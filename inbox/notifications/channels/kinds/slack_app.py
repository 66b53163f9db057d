"""Sends direct messages in Slack by the app's bot, with buttons that answer."""

from __future__ import annotations

import json
import re
from http import HTTPStatus

from django.conf import settings

from accounts.access import may_answer
from database.encryption import Unreadable
from inbox.answering.editing.edits import Original
from inbox.models import Channel, Event
from inbox.notifications.channels.kinds.kind import BadAddress, Kind, Post, Result, read_status
from inbox.notifications.channels.kinds.slack_webhook import Block, escape, text_block
from inbox.notifications.channels.message import Message
from wake.assignment.votes import quorum_of
from wake.callbacks.http_client import Outcome
from wake.models import Delivery, Response

NAME = "slack_app"
MEMBER_ID = re.compile(r"[UW][A-Z0-9]{4,20}")
WITH_BUTTONS = {Event.QUESTION, Event.CLOSING, Event.ASSIGNED}
# Of chat.postMessage: the person or the bot is not there any more.
GONE = {"account_inactive", "channel_not_found", "token_revoked", "user_not_found"}


def can_answer_here(delivery: Delivery) -> bool:
    """Returns whether Approve and Reject are enough to answer this delivery. One that asks for
    values or for several approvals, or whose action cannot be undone, is answered in Wake, where
    people see all of it."""
    is_open = delivery.answered_at is None and not delivery.is_closed
    if not is_open or delivery.superseded_at is not None or delivery.erased_at is not None:
        return False
    if delivery.type not in {Delivery.Type.QUESTION, Delivery.Type.OUTPUT}:
        return False
    if delivery.irreversible:
        return False
    if quorum_of(delivery) is not None:
        return False  # the page says who else has to agree
    try:
        return not Original.of(delivery).controls
    except Unreadable:
        return False


def buttons_block(*buttons: Block) -> Block:
    return {"type": "actions", "elements": list(buttons)}


def open_button(url: str) -> Block:
    return _button("Open in Wake", "open", url=url)


def answer_buttons(channel: Channel, delivery: Delivery) -> list[Block]:
    """Returns Approve and Reject. Each names the content that the message is about."""
    value = "|".join([str(channel.pk), str(delivery.pk), delivery.content_hash])
    is_question = delivery.type == Delivery.Type.QUESTION
    return [
        _button("Yes, go ahead" if is_question else "Approve", "approved", value=value),
        _button("Reject", "rejected", value=value),
    ]


def undo_button(channel: Channel, response: Response) -> Block:
    """Names the answer that it undoes, and no later one."""
    value = "|".join([str(channel.pk), str(response.delivery_id), str(response.pk)])
    return _button("Undo", "undo", value=value)


def _button(text: str, action_id: str, **fields: str) -> Block:
    label = {"type": "plain_text", "text": text, "emoji": False}
    return {"type": "button", "text": label, "action_id": action_id, **fields}


def _check(text: str) -> str:
    member = text.strip().upper()
    if not MEMBER_ID.fullmatch(member):
        raise BadAddress("Enter a member ID, such as U012AB3CD.")
    return member


def _mask(member: str) -> str:
    return f"member {member[:2]}…{member[-2:]}"


def _prepare(channel: Channel, message: Message) -> Post:
    buttons = _buttons(channel, message)
    content = {
        "channel": channel.address,
        "text": escape(message.title),
        "blocks": [
            text_block("\n".join([message.title, *message.lines])),
            buttons_block(*buttons, open_button(message.url)),
        ],
    }
    url = f"{settings.WAKE_SLACK_API_URL}/chat.postMessage"
    return Post.json(url, content, Authorization=f"Bearer {settings.WAKE_SLACK_BOT_TOKEN}")


def _buttons(channel: Channel, message: Message) -> list[Block]:
    """Returns none unless the message is about one delivery that Approve or Reject can answer."""
    if message.count != 1 or message.summary or message.items[0].event not in WITH_BUTTONS:
        return []
    item = message.items[0]
    delivery = Delivery.objects.filter(pk=item.delivery_id).first()
    if delivery is None or channel.user is None or delivery.is_past_deadline(message.at):
        return []
    is_same = delivery.content_hash == item.content_hash
    if is_same and may_answer(channel.user, delivery.team_id) and can_answer_here(delivery):
        return answer_buttons(channel, delivery)
    return []


def _read(channel: Channel, outcome: Outcome) -> Result:
    """Slack answers 200 also where it refuses, and says in the body what is wrong."""
    if outcome.status_code != HTTPStatus.OK:
        return read_status(channel, outcome)
    try:
        answer = json.loads(outcome.answer)
    except ValueError:
        # Only the beginning of an answer is kept; a long one is a message that was posted.
        answer = {"ok": outcome.answer.startswith('{"ok":true')}
    if isinstance(answer, dict) and answer.get("ok") is True:
        return Result()
    code = str(answer.get("error", "")) if isinstance(answer, dict) else ""
    return Result(f"Slack refused the message ({code[:60] or 'no reason'}).", is_gone=code in GONE)


def is_configured() -> bool:
    return bool(
        settings.WAKE_SLACK_BOT_TOKEN
        and settings.WAKE_SLACK_SIGNING_SECRET
        and settings.WAKE_SLACK_WORKSPACE
    )


KIND = Kind(
    name=NAME,
    title="Slack with buttons",
    check=_check,
    mask=_mask,
    prepare=_prepare,
    read=_read,
    address_label="Member ID",
    address_help="In Slack, open your profile, then ⋮, then Copy member ID.",
    for_teams=False,
    links_account=True,
    is_available=is_configured,
)
