"""Sends notifications to a channel of Slack, by an incoming webhook."""

from __future__ import annotations

from functools import partial
from typing import Any

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import check_url, mask_url
from inbox.notifications.channels.kinds.kind import ChannelKind, ChannelPost
from inbox.notifications.channels.message import ChannelMessage
from inbox.rendering.blocks import cut

# Slack requires these three escapes and no others (Formatting text for app surfaces).
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
LONGEST_TEXT = 2_900  # Slack takes 3,000 characters in a block

Block = dict[str, Any]


def escape(text: str) -> str:
    """Returns text that mentions and links nothing in Slack's mrkdwn."""
    return text.translate(ESCAPES)


def text_block(text: str, *, is_whole: bool = False) -> Block:
    """Returns plain text, in which Slack formats and links nothing. Slack folds a long text, unless
    `is_whole` is set."""
    shown = {"type": "plain_text", "text": cut(text, LONGEST_TEXT), "emoji": False}
    return {"type": "section", "text": shown, **({"expand": True} if is_whole else {})}


def _prepare(channel: Channel, message: ChannelMessage) -> ChannelPost:
    blocks = [
        text_block("\n".join([message.title, *message.lines])),
        {
            "type": "actions",
            "elements": [
                {
                    "type": "button",
                    "text": {"type": "plain_text", "text": "Open in Wake"},
                    "url": message.url,
                }
            ],
        },
    ]
    return ChannelPost.json(channel.address, {"text": escape(message.title), "blocks": blocks})


KIND = ChannelKind(
    name="slack_webhook",
    title="Slack",
    check=partial(check_url, hosts=["hooks.slack.com", "hooks.slack-gov.com"]),
    mask=mask_url,
    prepare=_prepare,
    address_label="Incoming webhook URL",
    address_help="It begins with https://hooks.slack.com/services/.",
)
