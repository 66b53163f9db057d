"""Sends notifications to a topic of ntfy, at ntfy.sh or on a server of one's own."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import LONG_PATH, SHOWN, check_url, destination
from inbox.notifications.channels.kinds.kind import BadAddress, Kind, Post
from inbox.notifications.channels.message import Message


def _check(text: str) -> str:
    url = check_url(text if "/" in text else f"https://ntfy.sh/{text.strip()}")
    if not _topic(url) or "?" in url:
        raise BadAddress("Enter a topic, or its whole address, such as https://ntfy.sh/my-topic.")
    return url


def _mask(url: str) -> str:
    """Hides the topic, because anyone who knows it can read it."""
    topic = _topic(url)
    return f"{destination(url).name}/…{topic[-SHOWN:] if len(topic) > LONG_PATH else ''}"


def _prepare(channel: Channel, message: Message) -> Post:
    """Publishes as JSON, to the address above the topic, because headers are limited to ASCII
    (docs.ntfy.sh, Publish as JSON)."""
    content: dict[str, Any] = {
        "topic": _topic(channel.address),
        "title": message.title,
        "message": "\n".join(message.lines) or message.title,
        "click": message.url,
    }
    headers = {"Authorization": f"Bearer {channel.secret}"} if channel.secret else {}
    return Post.json(channel.address.rpartition("/")[0] + "/", content, **headers)


def _topic(url: str) -> str:
    return unquote(urlsplit(url).path.rpartition("/")[2])


KIND = Kind(
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
