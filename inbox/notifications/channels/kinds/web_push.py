"""Sends notifications to a browser by its push service (RFC 8030), encrypted so that the service
cannot read them."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from urllib.parse import urlsplit

from database.encryption import Unreadable
from inbox.models import Channel, Event
from inbox.notifications.channels.kinds.addresses import check_url, destination
from inbox.notifications.channels.kinds.kind import BadAddress, CannotSend, Kind, Post
from inbox.notifications.channels.message import Message
from inbox.notifications.web_push import vapid
from inbox.notifications.web_push.subscriptions import BadSubscription, Subscription
from inbox.rendering.blocks import cut
from wake.callbacks.allowlist import Refused

NAME = "web_push"
# The push services of Chrome (and Opera, Brave, Samsung Internet), Firefox, Edge, and Safari.
SERVICES = [
    "fcm.googleapis.com",
    "push.services.mozilla.com",
    "notify.windows.com",
    "push.apple.com",
]
# A service takes 4,096 bytes, and encryption needs 103 of them.
LONGEST_TITLE, LONGEST_BODY = 200, 700
LONGEST_KEPT, SHORTEST_KEPT = timedelta(days=1), timedelta(minutes=1)
URGENT = {Event.QUESTION, Event.ALERT, Event.CLOSING, Event.ASSIGNED, Event.TEST}


def _check(text: str) -> str:
    """Takes the subscription only to a known service, because it needs no code: otherwise Wake
    could be made to post to servers that never asked."""
    try:
        subscription = Subscription.from_browser(text)
        check_url(subscription.endpoint, hosts=SERVICES)
    except BadSubscription as reason:
        raise BadAddress(str(reason)) from None
    except BadAddress:
        raise BadAddress(
            "This server does not know the push service of your browser. "
            "Your administrator can allow it in WAKE_NOTIFICATION_HOSTS."
        ) from None
    return str(subscription)


def _mask(address: str) -> str:
    return f"by {destination(Subscription.stored(address).endpoint).host}"


def _prepare(channel: Channel, message: Message) -> Post:
    try:
        subscription = Subscription.stored(channel.address)
        authorization = vapid.authorization(subscription.endpoint, at=message.at)
        check_url(subscription.endpoint, hosts=SERVICES)
    except Unreadable:
        raise CannotSend("the encryption key of this channel is gone") from None
    except (Refused, BadAddress):
        raise CannotSend("this server no longer allows the push service") from None
    headers = {
        "Authorization": authorization,
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(_seconds_kept(message)),
        "Urgency": _urgency(message),
    }
    if topic := _topic(message):
        headers["Topic"] = topic
    return Post(subscription.endpoint, subscription.encrypted(_content(message)), headers)


def _content(message: Message) -> bytes:
    """Returns what the service worker shows (templates/inbox/pages/service_worker.js)."""
    content = {
        "title": cut(message.title, LONGEST_TITLE),
        "body": cut("\n".join(message.lines), LONGEST_BODY),
        "path": urlsplit(message.url).path,
        "tag": _topic(message) or message.id,
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _topic(message: Message) -> str:
    """Returns what a newer message replaces: what was told of the same delivery. Several deliveries
    replace nothing."""
    if message.items and message.count == 1 and not message.summary:
        digest = hashlib.sha256(f"{message.items[0].delivery_id}".encode()).digest()
        return vapid.encoded(digest)[:32]
    return "" if message.items else str(message.purpose)


def _urgency(message: Message) -> str:
    """Returns how much of a phone's battery the message is worth (RFC 8030, section 5.3)."""
    told = {*message.counts, message.purpose}
    if told & URGENT:
        return "high"
    return "low" if message.purpose == Event.DIGEST else "normal"


def _seconds_kept(message: Message) -> int:
    """Returns how long the service may keep it for a browser that is closed: until the deadline,
    and at most a day."""
    deadline = message.items[0].deadline if message.count == 1 and message.items else None
    if deadline is None or deadline <= message.at:
        return int(LONGEST_KEPT.total_seconds())
    return int(min(max(deadline - message.at, SHORTEST_KEPT), LONGEST_KEPT).total_seconds())


KIND = Kind(
    name=NAME,
    title="Browser",
    check=_check,
    mask=_mask,
    prepare=_prepare,
    added_at="settings-browser-new",
    add_label="This browser",
    for_teams=False,
    needs_no_code=True,
)
