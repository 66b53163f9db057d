"""Limits the messages that people send to try or link a channel."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.limits import throttles
from accounts.limits.attempts import Limit

CHANNEL_MESSAGES = "10/m"
LINK_CODES = Limit(20, 86_400)


def count_channel_message(request: HttpRequest) -> None:
    """Raises TooManyRequests. Sending a test or a code through a channel occupies a thread."""
    throttles.count(
        request, group="channel", rate=CHANNEL_MESSAGES, key=lambda: str(request.user.pk)
    )


def count_link_code(request: HttpRequest) -> None:
    """Raises TooManyRequests. Each code that links an account allows a few tries, and a person
    could request new codes all day. The codes are also counted in the database."""
    throttles.count_attempts(request, ("link-code", LINK_CODES, str(request.user.pk)))
