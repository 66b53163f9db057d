"""Sends notifications to a person's own e-mail address."""

from __future__ import annotations

from django.conf import settings
from django.core.mail import EmailMessage
from django.urls import reverse

from inbox.models import Channel
from inbox.notifications.channels.kinds.kind import CannotSend, ChannelKind
from inbox.notifications.channels.message import ChannelMessage
from pages.characters.invisible import reveal_value
from pages.mail import unlinked


def _prepare(channel: Channel, message: ChannelMessage) -> EmailMessage:
    """Writes plain text, to the person's current address."""
    assert channel.user is not None  # noqa: S101 - teams have no channel of this kind
    if not settings.WAKE_SENDS_MAIL:
        raise CannotSend("this server can't send e-mail")
    settings_url = settings.WAKE_ORIGIN + reverse("settings-notifications")
    lines = [unlinked(line) for line in [message.title, *message.lines]]
    words = [*lines, "", message.url, "", f"Choose your notifications: {settings_url}", ""]
    return EmailMessage(
        subject=f"Wake: {reveal_value(message.title)}",
        body="\n".join(words),
        to=[channel.user.email],
        headers={"Auto-Submitted": "auto-generated", "List-Unsubscribe": f"<{settings_url}>"},
    )


KIND = ChannelKind(
    name="email",
    title="E-mail",
    check=lambda text: "",
    mask=lambda address: "Your e-mail address",
    prepare=_prepare,
    for_teams=False,
    needs_no_code=True,
    is_available=lambda: bool(settings.WAKE_SENDS_MAIL),
)
