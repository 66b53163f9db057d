"""Sends notifications to a browser by its push service (RFC 8030). The notifications are encrypted,
so that the service cannot read them."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from urllib.parse import urlsplit

from database.encryption import Unreadable
from inbox.models import Channel, ChannelEvent
from inbox.notifications.channels.kinds.addresses import check_url, destination
from inbox.notifications.channels.kinds.kind import BadAddress, CannotSend, ChannelKind, ChannelPost
from inbox.notifications.channels.message import ChannelMessage
from inbox.notifications.web_push import vapid
from inbox.notifications.web_push.subscriptions import BadSubscription, Subscription
from inbox.rendering.blocks import cut
from wake.callbacks.allowlist import AddressRefused

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
URGENT = {
    ChannelEvent.QUESTION,
    ChannelEvent.ALERT,
    ChannelEvent.CLOSING,
    ChannelEvent.ASSIGNED,
    ChannelEvent.TEST,
}


def _check(text: str) -> str:
    """Accepts the subscription only for a known service, because no code verifies a subscription.
    Otherwise people could make Wake post to servers that never asked for messages."""
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


def _prepare(channel: Channel, message: ChannelMessage) -> ChannelPost:
    try:
        subscription = Subscription.stored(channel.address)
        authorization = vapid.authorization(subscription.endpoint, at=message.at)
        check_url(subscription.endpoint, hosts=SERVICES)
    except Unreadable:
        raise CannotSend("the encryption key of this channel is gone") from None
    except (AddressRefused, BadAddress):
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
    return ChannelPost(subscription.endpoint, subscription.encrypted(_content(message)), headers)


def _content(message: ChannelMessage) -> bytes:
    """Returns the content for the service worker (templates/inbox/pages/service_worker.js)."""
    content = {
        "title": cut(message.title, LONGEST_TITLE),
        "body": cut("\n".join(message.lines), LONGEST_BODY),
        "path": urlsplit(message.url).path,
        "tag": _topic(message) or message.id,
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _topic(message: ChannelMessage) -> str:
    """Returns the topic under which a newer message replaces an older one about the same delivery.
    A message about several deliveries replaces nothing."""
    if message.items and message.count == 1 and not message.summary:
        digest = hashlib.sha256(f"{message.items[0].delivery_id}".encode()).digest()
        return vapid.encoded(digest)[:32]
    return "" if message.items else str(message.purpose)


def _urgency(message: ChannelMessage) -> str:
    """Returns the urgency, by which a phone decides whether to use its battery for the message (RFC
    8030, section 5.3)."""
    told = {*message.counts, message.purpose}
    if told & URGENT:
        return "high"
    return "low" if message.purpose == ChannelEvent.DIGEST else "normal"


def _seconds_kept(message: ChannelMessage) -> int:
    """Returns how long the service may keep the message for a closed browser: until the deadline,
    and at most a day."""
    deadline = message.items[0].deadline if message.count == 1 and message.items else None
    if deadline is None or deadline <= message.at:
        return int(LONGEST_KEPT.total_seconds())
    return int(min(max(deadline - message.at, SHORTEST_KEPT), LONGEST_KEPT).total_seconds())


KIND = ChannelKind(
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
