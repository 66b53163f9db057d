"""Stores replies that a person uses again as feedback."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from django.db import transaction

from accounts.models import User
from inbox.models import SavedReply
from inbox.reading.status_words import STATUS_LABELS

MAX_REPLIES = 40


class TooManyReplies(Exception):
    """You have 40 saved replies, which is the most. Remove one first."""


class SameName(Exception):
    """You already have a saved reply with this name for this answer."""


@transaction.atomic
def save_reply(reply: SavedReply) -> None:
    """Saves a new or changed reply that its form has checked. Raises TooManyReplies and
    SameName."""
    # Only one save runs at a time, so that both checks hold.
    User.objects.select_for_update().get(pk=reply.user_id)
    others = SavedReply.objects.of(reply.user).exclude(pk=reply.pk)
    if reply._state.adding and others.count() >= MAX_REPLIES:
        raise TooManyReplies(TooManyReplies.__doc__)
    if others.filter(status=reply.status, name=reply.name).exists():
        raise SameName(SameName.__doc__)
    reply.save()


def by_answer(replies: Iterable[SavedReply]) -> list[tuple[str, list[SavedReply]]]:
    """Groups replies from `SavedReply.objects.of(user)` by the label of their answer, such as
    "Approved"."""
    by_status = {status: list(rows) for status, rows in groupby(replies, lambda each: each.status)}
    return [
        (label, by_status[status]) for status, label in STATUS_LABELS.items() if status in by_status
    ]


def with_saved_reply(typed: str, replies: Iterable[SavedReply], *, chosen: str) -> str:
    """Returns the typed text, followed by the text of the chosen reply."""
    texts = [reply.text for reply in replies if str(reply.pk) == chosen]
    return "\n".join(part for part in [typed.rstrip(), *texts] if part)
