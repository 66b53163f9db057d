"""Sends notifications to a channel of Slack, by an incoming webhook."""

from __future__ import annotations

from functools import partial

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import check_url, mask_url
from inbox.notifications.channels.kinds.kind import Kind, Post
from inbox.notifications.channels.message import Message

# As Slack asks for it: these three and nothing else (Formatting text for app surfaces).
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape(text: str) -> str:
    """Returns text that mentions and links nothing in Slack's mrkdwn."""
    return text.translate(ESCAPES)


def _prepare(channel: Channel, message: Message) -> Post:
    """Uses plain text for what agents wrote, in which Slack formats and links nothing."""
    words = "\n".join([message.title, *message.lines])
    blocks = [
        {"type": "section", "text": {"type": "plain_text", "text": words, "emoji": False}},
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
    return Post.json(channel.address, {"text": escape(message.title), "blocks": blocks})


KIND = Kind(
    name="slack_webhook",
    title="Slack",
    check=partial(check_url, hosts=["hooks.slack.com", "hooks.slack-gov.com"]),
    mask=mask_url,
    prepare=_prepare,
    address_label="Incoming webhook URL",
    address_help="It begins with https://hooks.slack.com/services/.",
)
