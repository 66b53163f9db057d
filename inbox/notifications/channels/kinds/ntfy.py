"""Sends notifications to a topic of ntfy, at ntfy.sh or on the user's own server."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urlsplit

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import LONG_PATH, SHOWN, check_url, destination
from inbox.notifications.channels.kinds.kind import JSON, BadAddress, ChannelKind, ChannelPost
from inbox.notifications.channels.message import ChannelMessage

# In bytes. ntfy takes messages of up to 4,096 bytes, and up to 8,192 with the surrounding JSON.
LONGEST_MESSAGE = 3_000


def _check(text: str) -> str:
    url = check_url(text if "/" in text else f"https://ntfy.sh/{text.strip()}")
    if not _topic(url) or "?" in url:
        raise BadAddress("Enter a topic, or its whole address, such as https://ntfy.sh/my-topic.")
    return url


def _mask(url: str) -> str:
    """Hides the topic, because anyone who knows a topic can read its messages."""
    topic = _topic(url)
    return f"{destination(url).name}/…{topic[-SHOWN:] if len(topic) > LONG_PATH else ''}"


def _prepare(channel: Channel, message: ChannelMessage) -> ChannelPost:
    """Publishes JSON to the address above the topic, because headers are limited to ASCII
    (docs.ntfy.sh, Publish as JSON)."""
    text = "\n".join(message.lines) or message.title
    content: dict[str, Any] = {
        "topic": _topic(channel.address),
        "title": message.title,
        "message": _cut(text),
        "click": message.url,
    }
    headers = {"Authorization": f"Bearer {channel.secret}"} if channel.secret else {}
    body = json.dumps(content, ensure_ascii=False).encode()
    return ChannelPost(channel.address.rpartition("/")[0] + "/", body, {**JSON, **headers})


def _cut(text: str) -> str:
    """Returns at most this many bytes. A cut text ends with "…"."""
    content = text.encode()
    if len(content) <= LONGEST_MESSAGE:
        return text
    return content[: LONGEST_MESSAGE - len("…".encode())].decode(errors="ignore") + "…"


def _topic(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


KIND = ChannelKind(
    name="ntfy",
    title="ntfy",
    check=_check,
    mask=_mask,
    prepare=_prepare,
    address_label="Topic",
    address_help="The name of a topic at ntfy.sh, or the address of one on your own server. "
    "Anyone who knows the topic can read it, so choose a long name.",
    extra_label="Access token",
    extra_help="Only if the topic asks for one.",
)
