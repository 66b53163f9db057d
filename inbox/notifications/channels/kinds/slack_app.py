"""Sends direct messages in Slack by the app's bot, with buttons that answer."""

from __future__ import annotations

import hashlib
import json
import re
from http import HTTPStatus

from django.conf import settings

from accounts.access.objects import may_answer
from inbox.models import Channel, ChannelEvent
from inbox.notifications.channels.kinds.kind import (
    BadAddress,
    ChannelKind,
    ChannelPost,
    SendResult,
    read_status,
)
from inbox.notifications.channels.kinds.slack_webhook import (
    LONGEST_TEXT,
    Block,
    escape,
    text_block,
)
from inbox.notifications.channels.message import ChannelMessage
from inbox.reading import in_sight
from pages.characters.invisible import reveal_value
from wake.callbacks.http_client import HttpResult
from wake.models import Delivery, Response

NAME = "slack_app"
MEMBER_ID = re.compile(r"[UW][A-Z0-9]{4,20}")
NEEDS_PASSKEY = "Needs your passkey. Open it in Wake to answer."
WITH_BUTTONS = {ChannelEvent.QUESTION, ChannelEvent.CLOSING, ChannelEvent.ASSIGNED}
# Errors of chat.postMessage when the person or the bot no longer exists.
GONE = {"account_inactive", "channel_not_found", "token_revoked", "user_not_found"}


def can_answer_here(delivery: Delivery) -> bool:
    """Returns whether a message can show everything that a person approves. Other deliveries are
    answered in Wake, where people see everything: deliveries with details, an assumption, or other
    fields that no message prints. Deliveries with values to choose, with several approvals, or with
    actions that cannot be undone are also answered there."""
    is_open = delivery.answered_at is None and not delivery.is_closed
    if not is_open or delivery.superseded_at is not None or delivery.erased_at is not None:
        return False
    if delivery.type not in {Delivery.Type.QUESTION, Delivery.Type.OUTPUT}:
        return False
    return in_sight.is_bare(delivery)


def whole_text(first: str, delivery: Delivery) -> str:
    """Returns the text of a message that can be answered. The text is `first` with the whole
    headline, then the whole summary, and the agent's own name for itself."""
    claimed, provider = reveal_value(delivery.claimed_agent_id), reveal_value(delivery.provider)
    return "\n".join([first, reveal_value(delivery.summary), f"Sent as {claimed} ({provider})"])


def buttons_block(*buttons: Block) -> Block:
    return {"type": "actions", "elements": list(buttons)}


def open_button(url: str) -> Block:
    return _button("Open in Wake", "open", url=url)


def answer_buttons(channel: Channel, delivery: Delivery, text: str) -> list[Block]:
    """Returns Approve and Reject for a message with this text (`whole_text`). Returns no buttons if
    the text is incomplete or too long for a message. The value of each button identifies the
    content of the message, and the text that was shown."""
    if len(text) > LONGEST_TEXT or not can_answer_here(delivery):
        return []
    shown = hashlib.sha256(text.encode()).hexdigest()
    value = "|".join([str(channel.pk), str(delivery.pk), delivery.content_hash, shown])
    is_question = delivery.type == Delivery.Type.QUESTION
    return [
        _button("Yes, go ahead" if is_question else "Approve", "approved", value=value),
        _button("Reject", "rejected", value=value),
    ]


def undo_button(channel: Channel, response: Response) -> Block:
    """Returns a button whose value identifies the answer, so that the button undoes only this
    answer and no later one."""
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


def _prepare(channel: Channel, message: ChannelMessage) -> ChannelPost:
    text = "\n".join([message.title, *message.lines])
    buttons: list[Block] = []
    if (delivery := _to_answer(channel, message)) is not None:
        headline = reveal_value(delivery.headline)
        first = f"{message.title}\n{headline}{message.deadline(message.items[0])}"
        whole = whole_text(first, delivery)
        buttons = answer_buttons(channel, delivery, whole)
        text = whole if buttons else text
        if delivery.must_be_signed:
            text = f"{text}\n{NEEDS_PASSKEY}"
    content = {
        "channel": channel.address,
        "text": escape(message.title),
        "blocks": [
            text_block(text, is_whole=bool(buttons)),
            buttons_block(*buttons, open_button(message.url)),
        ],
    }
    url = f"{settings.WAKE_SLACK_API_URL}/chat.postMessage"
    return ChannelPost.json(url, content, Authorization=f"Bearer {settings.WAKE_SLACK_BOT_TOKEN}")


def _to_answer(channel: Channel, message: ChannelMessage) -> Delivery | None:
    """Returns the one delivery of the message, if its person may answer it now."""
    if message.count != 1 or message.summary or message.items[0].event not in WITH_BUTTONS:
        return None
    item = message.items[0]
    delivery = Delivery.objects.select_related("team").filter(pk=item.delivery_id).first()
    if delivery is None or channel.user is None or delivery.is_past_deadline(message.at):
        return None
    is_same = delivery.content_hash == item.content_hash
    return delivery if is_same and may_answer(channel.user, delivery.team_id) else None


def _read(channel: Channel, outcome: HttpResult) -> SendResult:
    """Reads the body, because Slack answers 200 even if it refuses."""
    if outcome.status_code != HTTPStatus.OK:
        return read_status(channel, outcome)
    try:
        answer = json.loads(outcome.answer)
    except ValueError:
        # Only the beginning of an answer is stored. A long answer means that the message was
        # posted.
        answer = {"ok": outcome.answer.startswith('{"ok":true')}
    if isinstance(answer, dict) and answer.get("ok") is True:
        return SendResult()
    code = str(answer.get("error", "")) if isinstance(answer, dict) else ""
    return SendResult(
        f"Slack refused the message ({code[:60] or 'no reason'}).", is_gone=code in GONE
    )


def is_configured() -> bool:
    return bool(
        settings.WAKE_SLACK_BOT_TOKEN
        and settings.WAKE_SLACK_SIGNING_SECRET
        and settings.WAKE_SLACK_WORKSPACE
    )


KIND = ChannelKind(
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
