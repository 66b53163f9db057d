"""Sends notifications to a webhook, signed as Standard Webhooks requires."""

from __future__ import annotations

import base64
import secrets
from typing import Any

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import check_url, mask_url
from inbox.notifications.channels.kinds.kind import JSON, ChannelKind, ChannelPost
from inbox.notifications.channels.message import ChannelMessage, MessageItem
from wake import wire
from wake.callbacks.signatures import PREFIX, standard_headers

SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def _prepare(channel: Channel, message: ChannelMessage) -> ChannelPost:
    body = wire.encode(_content(message))
    signed = standard_headers(
        body, secrets=[channel.secret], message_id=f"msg_{message.id}", at=message.at
    )
    return ChannelPost(channel.address, body, {**JSON, **signed})


def _content(message: ChannelMessage) -> dict[str, Any]:
    content: dict[str, Any] = {
        "type": f"wake.{message.purpose}",
        "timestamp": message.at.isoformat(),
        "title": message.title,
        "url": message.url,
        "count": message.count,
        "deliveries": [_delivery(item) for item in message.items],
    }
    return {**content, "code": message.code} if message.code else content


def _delivery(item: MessageItem) -> dict[str, Any]:
    return {
        "event": item.event,
        "delivery_id": item.delivery_id,
        "agent_id": item.agent,
        "headline": item.headline,
        "deadline": item.deadline.isoformat() if item.deadline else None,
        "url": item.url,
    }


KIND = ChannelKind(
    name="webhook",
    title="Webhook",
    check=check_url,
    mask=mask_url,
    prepare=_prepare,
    address_label="URL",
    address_help="We post JSON to it, signed as Standard Webhooks says.",
    make_secret=new_secret,
)
