"""Writes the mails that people get: digests, reminders, invitations, and links about passwords and
addresses."""

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

from accounts.access.viewer import Viewer
from accounts.models import AddressChange, Invitation, PasskeyNotice, User
from accounts.sign_in import second_factor
from accounts.sign_in.address_changes import CONFIRM_WITHIN, UNDO_WITHIN
from accounts.teams.invitations import OPEN_FOR
from inbox.audit.chain_tips import chain_tips
from inbox.deadlines.wording import deadline_text
from inbox.models import Preferences
from inbox.notifications.waiting import COUNT_UP_TO, Group, Waiting
from pages.characters.invisible import reveal
from pages.local_time import zone_of
from pages.times import when
from wake.models import Delivery

# Mail programs turn anything that looks like an address into a link, and a headline that an agent
# wrote must not link anywhere from our mail.
LOOKS_LIKE_ADDRESS = re.compile(r"(?<=\w)(?::(?=//)|\.(?=[^\W\d_]{2})|@(?=\w))")
MOST_CHAIN_TIPS = 10


# The mail server refuses this mail, or us; every other error of smtplib means that it is away.
REFUSALS = (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused)


def reaches_people() -> bool:
    """Returns whether mail is sent; development prints it on the server's console."""
    return bool(settings.WAKE_SENDS_MAIL) and not is_printed()


def is_printed() -> bool:
    return bool(settings.EMAIL_BACKEND == "django.core.mail.backends.console.EmailBackend")


class NotTaken(Exception):
    """The mail server did not take this mail."""


class ServerAway(NotTaken):
    """No mail server answers in good time; a sweep stops here."""


@dataclass(frozen=True, slots=True)
class Line:
    headline: str
    agent: str
    deadline: str
    url: str


@dataclass(frozen=True, slots=True)
class Part:
    title: str
    lines: list[Line]
    more: int


def send_digest(preferences: Preferences, waiting: Waiting, *, at: datetime) -> None:
    """Sends three counts and the first headlines of each; raises NotTaken."""
    user = preferences.user
    with timezone.override(zone_of(user)):
        until = _by(waiting.until, at)
        counts = [
            _count(waiting.needs_you, "delivery needs you", "deliveries need you"),
            _count(waiting.closing, "deadline", "deadlines") + f" before {until}",
            _count(waiting.informs, "update to read", "updates to read"),
        ]
        if waiting.mentions.count:
            counts.append(f"{_mentions(waiting)}: {_url('mentions')}")
        parts = [
            _part(f"Deadlines before {until}", waiting.closing, at),
            _part("Needs you", waiting.others, at),
            _part("Updates", waiting.informs, at),
        ]
        context = {"counts": counts, "parts": parts, "tips": _chain_tips(user)}
        _send(user, subject=_subject(waiting), template="digest", **context)


def send_reminder(user: User, closing: Sequence[Delivery], *, at: datetime) -> None:
    """Reminds the person of agents that continue within the hour; raises NotTaken."""
    count = len(closing)
    agents = "1 agent continues" if count == 1 else f"{count} agents continue"
    title = f"{agents} without you within the hour"
    with timezone.override(zone_of(user)):
        part = _part(title, Group(closing[:COUNT_UP_TO], count), at)
        _send(user, subject=f"Wake: {title}", template="reminder", parts=[part])


def send_reset(user: User, *, uid: str, token: str) -> None:
    """Sends the link to a new password; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "email": user.email,
        "url": _url("reset-password", uid, token),
        "minutes": settings.PASSWORD_RESET_TIMEOUT // 60,
        "has_second_factor": second_factor.is_on(user),
        "passkeys": user.passkeys.count(),
    }
    _deliver(
        _compose(user.email, subject="Wake: reset your password", template="reset", context=context)
    )


def send_new_address(change: AddressChange, text: str) -> None:
    """Sends the link that confirms a new address to that address; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "old_email": unlinked(change.old_email),
        "url": _url("confirm-address", text),
        "minutes": CONFIRM_WITHIN.seconds // 60,
    }
    subject = "Wake: confirm your new address"
    _deliver(_compose(change.new_email, subject=subject, template="new_address", context=context))


def send_address_changed(change: AddressChange, text: str) -> None:
    """Tells the old address, with the link that undoes the change; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "old_email": change.old_email,
        "new_email": unlinked(change.new_email),
        "url": _url("restore-address", text),
        "days": UNDO_WITHIN.days,
    }
    subject = "Wake: your address was changed"
    _deliver(
        _compose(change.old_email, subject=subject, template="address_changed", context=context)
    )


def send_passkey_notice(notice: PasskeyNotice) -> None:
    """Tells a person that a passkey of theirs was added, removed or copied; raises NotTaken."""
    subject = {
        PasskeyNotice.Kind.ADDED: "Wake: a passkey was added",
        PasskeyNotice.Kind.REMOVED: "Wake: a passkey was removed",
        PasskeyNotice.Kind.COPIED: "Wake: a passkey was refused",
    }[PasskeyNotice.Kind(notice.kind)]
    context = {
        "origin": settings.WAKE_ORIGIN,
        "email": notice.email,
        "passkey": unlinked(notice.passkey),
        "kind": notice.kind,
        "passwords": settings.WAKE_PASSWORDS,
        "security_url": _url("settings-security"),
        "reset_url": _url("reset"),
    }
    _deliver(_compose(notice.email, subject=subject, template="passkey", context=context))


def send_invitation(invitation: Invitation, text: str) -> None:
    """Sends the link into a team, to a person who may not know Wake yet; raises NotTaken."""
    context = {
        "origin": settings.WAKE_ORIGIN,
        "inviter": unlinked(invitation.invited_by.display_name),
        "team": unlinked(invitation.team.name),
        "role": invitation.role,
        "url": _url("join", text),
        "days": OPEN_FOR.days,
    }
    _deliver(
        _compose(
            invitation.email, subject="Wake: invitation", template="invitation", context=context
        )
    )


def unlinked(text: str) -> str:
    """Returns `https[:]//evil[.]example`, which no mail program turns into a link."""
    return LOOKS_LIKE_ADDRESS.sub(lambda match: f"[{match[0]}]", reveal(text))


def _send(user: User, *, subject: str, template: str, **context: Any) -> None:
    settings_url = _url("settings-digest")
    context |= {"inbox_url": _url("inbox"), "settings_url": settings_url}
    mail = _compose(user.email, subject=subject, template=template, context=context)
    # Not RFC 8058's one click: a reader of the mail must not be able to change settings.
    mail.extra_headers["List-Unsubscribe"] = f"<{settings_url}>"
    _deliver(mail)


def _compose(
    to: str, *, subject: str, template: str, context: dict[str, Any]
) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        subject=subject,
        body=render_to_string(f"inbox/notifications/mail/{template}.txt", context),
        to=[to],
        headers={"Auto-Submitted": "auto-generated"},
    )
    html = render_to_string(f"inbox/notifications/mail/{template}.html", context)
    mail.attach_alternative(html, "text/html")
    return mail


def _deliver(mail: EmailMultiAlternatives) -> None:
    try:
        mail.send()
    except REFUSALS as error:
        raise NotTaken(str(error)) from error
    except OSError as error:
        raise ServerAway(str(error)) from error


def _subject(waiting: Waiting) -> str:
    parts = []
    if waiting.needs_you.count:
        parts.append(_count(waiting.needs_you, "delivery needs you", "deliveries need you"))
    if waiting.closing.count:
        parts.append(_count(waiting.closing, "deadline soon", "deadlines soon"))
    if waiting.mentions.count:
        parts.append(_mentions(waiting))
    if not parts:
        parts.append(_count(waiting.informs, "update to read", "updates to read"))
    return f"Wake: {', '.join(parts)}"


def _mentions(waiting: Waiting) -> str:
    count = waiting.mentions.count
    return "1 comment mentions you" if count == 1 else f"{count} comments mention you"


def _count(group: Group, one: str, many: str) -> str:
    if group.count > COUNT_UP_TO:
        return f"More than {COUNT_UP_TO} {many}"
    return f"{group.count or 'No'} {one if group.count in {0, 1} else many}"


def _part(title: str, group: Group, at: datetime) -> Part:
    lines = [
        Line(
            headline=unlinked(delivery.headline),
            agent=unlinked(delivery.agent_name),  # type: ignore[attr-defined]  # listed() adds it
            deadline=deadline_text(delivery, at),
            url=_url("delivery", delivery.pk),
        )
        for delivery in group.rows
    ]
    return Part(title, lines, group.more)


def _chain_tips(user: User) -> list[str]:
    """Returns the tips of the audit chains that the person owns: in a mailbox they are out of reach
    of an attacker on this server."""
    owned = chain_tips(Viewer.of(user), owned=True)
    return [f"{unlinked(tip.team.name)} {tip}" for tip in owned[:MOST_CHAIN_TIPS]]


def _by(until: datetime, at: datetime) -> str:
    return when(until, now=at).removeprefix("at ").removeprefix("on ")


def _url(name: str, *arguments: Any) -> str:
    return settings.WAKE_ORIGIN + reverse(name, args=arguments)
