"""Writes the mail that people get: headlines and counts, and links that ask who is there; and the
two links that let somebody in: to a new password, and into a team."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from accounts import second_factor
from accounts.invitations import OPEN_FOR
from accounts.models import Invitation, User
from inbox.audit_heads import heads
from inbox.invisible import reveal
from inbox.models import Preferences
from inbox.moments import when
from inbox.own_clock import zone_of
from inbox.viewer import Viewer
from inbox.waiting import COUNTED, Group, Waiting
from inbox.windows import window
from wake.models import Delivery

# Mail programs make a link of whatever looks like an address, and no headline that an agent wrote
# may lead anywhere from our mail.
LOOKS_LIKE_ADDRESS = re.compile(r"(?<=\w)(?::(?=//)|\.(?=[^\W\d_]{2})|@(?=\w))")
HEADS_SHOWN = 10


# The server is there and says no to this mail, or to us; every other error of smtplib means that
# it is not there.
SAID_NO = (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused)


def reaches_people() -> bool:
    """Development prints its mail where only whoever runs it reads."""
    is_printed = settings.EMAIL_BACKEND == "django.core.mail.backends.console.EmailBackend"
    return bool(settings.WAKE_SENDS_MAIL) and not is_printed


class NotTaken(Exception):
    """The mail server did not take this mail."""


class ServerAway(NotTaken):
    """No mail server answers in good time: whoever sends many stops here."""


@dataclass(frozen=True, slots=True)
class Line:
    headline: str
    agent: str
    window: str
    url: str


@dataclass(frozen=True, slots=True)
class Part:
    title: str
    lines: list[Line]
    more: int


def send_digest(preferences: Preferences, waiting: Waiting, *, at: datetime) -> None:
    """Three counts and the first headlines of each; raises NotTaken."""
    user = preferences.user
    with timezone.override(zone_of(user)):
        until = _by(waiting.until, at)
        counts = [
            _count(waiting.needs_you, "delivery needs you", "deliveries need you"),
            _count(waiting.closing, "window closes", "windows close") + f" before {until}",
            _count(waiting.informs, "update is for information", "updates are for information"),
        ]
        parts = [
            _part(f"Closing before {until}", waiting.closing, at),
            _part("Needs you", waiting.others, at),
            _part("For information", waiting.informs, at),
        ]
        context = {"counts": counts, "parts": parts, "heads": _heads(user)}
        _send(user, subject=_subject(waiting), template="digest", **context)


def send_last_call(user: User, closing: Sequence[Delivery], *, at: datetime) -> None:
    """Agents that go on without this person within the hour; raises NotTaken."""
    count = len(closing)
    agents = "1 agent continues" if count == 1 else f"{count} agents continue"
    title = f"{agents} without you within the hour"
    with timezone.override(zone_of(user)):
        part = _part(title, Group(closing[:COUNTED], count), at)
        _send(user, subject=f"Wake: {title}", template="last_call", parts=[part])


def send_reset(user: User, *, uid: str, token: str) -> None:
    """The link to a new password; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "email": user.email,
        "url": _url("reset-password", uid, token),
        "minutes": settings.PASSWORD_RESET_TIMEOUT // 60,
        "has_second_factor": second_factor.is_on(user),
    }
    _deliver(
        _written(user.email, subject="Wake: a new password", template="reset", context=context)
    )


def send_invitation(invitation: Invitation, text: str) -> None:
    """The link into a team, to somebody who may never have heard of us; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "inviter": unlinked(invitation.invited_by.display_name),
        "team": unlinked(invitation.team.name),
        "role": invitation.role,
        "url": _url("join", text),
        "days": OPEN_FOR.days,
    }
    _deliver(
        _written(
            invitation.email, subject="Wake: an invitation", template="invitation", context=context
        )
    )


def unlinked(text: str) -> str:
    """`https[:]//evil[.]example`, so that no mail program makes a link of it."""
    return LOOKS_LIKE_ADDRESS.sub(lambda found: f"[{found[0]}]", reveal(text))


def _send(user: User, *, subject: str, template: str, **context: Any) -> None:
    settings_url = _url("settings-digest")
    context |= {"inbox_url": _url("inbox"), "settings_url": settings_url}
    mail = _written(user.email, subject=subject, template=template, context=context)
    # Not RFC 8058's one click: whoever holds a mail may read it, and change nothing.
    mail.extra_headers["List-Unsubscribe"] = f"<{settings_url}>"
    _deliver(mail)


def _written(
    to: str, *, subject: str, template: str, context: dict[str, Any]
) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        subject=subject,
        body=render_to_string(f"inbox/mail/{template}.txt", context),
        to=[to],
        headers={"Auto-Submitted": "auto-generated"},
    )
    html = render_to_string(f"inbox/mail/{template}.html", context)
    mail.attach_alternative(html, "text/html")
    return mail


def _deliver(mail: EmailMultiAlternatives) -> None:
    try:
        mail.send()
    except SAID_NO as error:
        raise NotTaken(str(error)) from error
    except OSError as error:
        raise ServerAway(str(error)) from error


def _subject(waiting: Waiting) -> str:
    said = []
    if waiting.needs_you.count:
        said.append(_count(waiting.needs_you, "delivery needs you", "deliveries need you"))
    if waiting.closing.count:
        said.append(_count(waiting.closing, "window closes soon", "windows close soon"))
    if not said:
        said.append(_count(waiting.informs, "update to read", "updates to read"))
    return f"Wake: {', '.join(said)}"


def _count(group: Group, one: str, many: str) -> str:
    if group.count > COUNTED:
        return f"More than {COUNTED} {many}"
    return f"{group.count or 'No'} {one if group.count in {0, 1} else many}"


def _part(title: str, group: Group, at: datetime) -> Part:
    lines = [
        Line(
            headline=unlinked(delivery.headline),
            agent=unlinked(delivery.agent_name),  # type: ignore[attr-defined]  # listed() adds it
            window=window(delivery, at),
            url=_url("delivery", delivery.pk),
        )
        for delivery in group.rows
    ]
    return Part(title, lines, group.more)


def _heads(user: User) -> list[str]:
    """Of the audit of the teams that they own: kept in a mailbox, they are out of reach of whoever
    could change it."""
    owned = heads(Viewer.of(user), owned=True)
    return [f"{unlinked(head.team.name)} {head}" for head in owned[:HEADS_SHOWN]]


def _by(until: datetime, at: datetime) -> str:
    return when(until, now=at).removeprefix("at ").removeprefix("on ")


def _url(name: str, *arguments: Any) -> str:
    return settings.WAKE_ORIGIN + reverse(name, args=arguments)
