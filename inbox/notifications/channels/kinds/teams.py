"""Sends notifications to a channel or chat of Microsoft Teams, by the URL of a workflow."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import check_url, mask_url
from inbox.notifications.channels.kinds.kind import ChannelKind, ChannelPost
from inbox.notifications.channels.message import ChannelMessage

# Hosts of workflow addresses: Power Automate, old and new, and governments.
HOSTS = ["logic.azure.com", "api.powerplatform.com", "logic.azure.us", "api.powerplatform.us"]
# Adaptive Cards read these characters as Markdown, or as a function.
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~])")


def _prepare(channel: Channel, message: ChannelMessage) -> ChannelPost:
    card: dict[str, Any] = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "body": [
            {**_text(message.title), "weight": "bolder"},
            *(_text(line) for line in message.lines),
        ],
        "actions": [{"type": "Action.OpenUrl", "title": "Open in Wake", "url": message.url}],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return ChannelPost.json(channel.address, {"type": "message", "attachments": [attachment]})


def _text(text: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": MARKDOWN.sub(r"\\\1", text), "wrap": True}


KIND = ChannelKind(
    name="teams",
    title="Microsoft Teams",
    check=partial(check_url, hosts=HOSTS),
    mask=mask_url,
    prepare=_prepare,
    address_label="Workflow URL",
    address_help="Made by the workflow “Send webhook alerts to a channel” in Teams.",
)
