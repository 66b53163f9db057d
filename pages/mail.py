"""Sends mails. Each app writes its own texts."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import Model, QuerySet
from django.template.loader import render_to_string
from django.urls import reverse

from database import sweeps
from pages.characters.invisible import reveal_value

# Mail programs turn anything that looks like an address into a link, and an agent's headline must
# not become a link in our mail.
LOOKS_LIKE_ADDRESS = re.compile(r"(?<=\w)(?::(?=//)|\.(?=[^\W\d_]{2})|@(?=\w))")
# The mail server refuses this mail, or us. Every other error of smtplib means that the mail server
# is away.
REFUSALS = (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused)

# A mail server may take this long (EMAIL_TIMEOUT for each step).
MAX_SENDING = timedelta(minutes=2)
MAX_MAILS_AT_ONCE = 100

Row = TypeVar("Row", bound=Model)


def reaches_people() -> bool:
    """Returns whether mail is sent. In development, mail is printed on the server's console."""
    return bool(settings.WAKE_SENDS_MAIL) and not is_printed()


def is_printed() -> bool:
    return bool(settings.EMAIL_BACKEND == "django.core.mail.backends.console.EmailBackend")


class NotTaken(Exception):
    """The mail server did not take this mail."""


class ServerAway(NotTaken):
    """No mail server answers in time, so a sweep sends no more mails."""


def send(
    to: str,
    *,
    subject: str,
    template: str,
    context: dict[str, Any],
    headers: dict[str, str] | None = None,
) -> None:
    """Sends a mail from two templates, `template` with the endings .txt and .html. Raises NotTaken,
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


def send_due(
    due: Callable[[datetime], QuerySet[Row]],
    send_mail: Callable[[Row], int],
    *,
    column: str,
    what: str,
    clock: Callable[[], datetime],
) -> int:
    """Calls `send_mail` with each row whose mail is due, and returns how many mails were sent.
    While the mail server is away, the rows wait. `column` names the rows' due time."""
    return sweeps.sweep_leased(
        due,
        send_mail,
        lease=sweeps.Lease(column, MAX_SENDING),
        what=what,
        clock=clock,
        at_once=MAX_MAILS_AT_ONCE,
        stop_on=(ServerAway,),
    )


def url_of(name: str, *arguments: Any) -> str:
    """Returns the full address of a page."""
    return settings.WAKE_ORIGIN + reverse(name, args=arguments)


def unlinked(text: str) -> str:
    """Returns `https[:]//evil[.]example`, which no mail program turns into a link."""
    return LOOKS_LIKE_ADDRESS.sub(lambda match: f"[{match[0]}]", reveal_value(text))
