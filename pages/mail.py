"""Sends mails, whose words each app writes."""

from __future__ import annotations

import re
import smtplib
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse

from pages.characters.invisible import reveal

# Mail programs turn anything that looks like an address into a link, and a headline that an agent
# wrote must not link anywhere from our mail.
LOOKS_LIKE_ADDRESS = re.compile(r"(?<=\w)(?::(?=//)|\.(?=[^\W\d_]{2})|@(?=\w))")
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


def send(
    to: str,
    *,
    subject: str,
    template: str,
    context: dict[str, Any],
    headers: dict[str, str] | None = None,
) -> None:
    """Sends a mail of two templates, `template` with the endings .txt and .html. Raises NotTaken,
    and ServerAway while no mail server answers."""
    mail = EmailMultiAlternatives(
        subject=subject,
        body=render_to_string(f"{template}.txt", context),
        to=[to],
        headers={"Auto-Submitted": "auto-generated", **(headers or {})},
    )
    mail.attach_alternative(render_to_string(f"{template}.html", context), "text/html")
    try:
        mail.send()
    except REFUSALS as error:
        raise NotTaken(str(error)) from error
    except OSError as error:
        raise ServerAway(str(error)) from error


def url_of(name: str, *arguments: Any) -> str:
    """Returns the whole address of a page."""
    return settings.WAKE_ORIGIN + reverse(name, args=arguments)


def unlinked(text: str) -> str:
    """Returns `https[:]//evil[.]example`, which no mail program turns into a link."""
    return LOOKS_LIKE_ADDRESS.sub(lambda match: f"[{match[0]}]", reveal(text))
