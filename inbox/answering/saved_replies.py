"""Saves the replies that a person uses again as feedback."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from django.db import transaction

from accounts.models import User
from inbox.models import Preset
from wake.models import Response

MOST_REPLIES = 40


class TooMany(Exception):
    """You have as many saved phrases as there is room for: remove one first."""


class SameName(Exception):
    """You have a phrase of that name for this answer already."""


@transaction.atomic
def save_reply(preset: Preset) -> None:
    """Saves a new or changed reply that its form has checked; raises TooMany and SameName."""
    User.objects.select_for_update().get(
        pk=preset.user_id
    )  # one save at a time, so that both checks hold
    others = Preset.objects.of(preset.user).exclude(pk=preset.pk)
    if preset._state.adding and others.count() >= MOST_REPLIES:
        raise TooMany(TooMany.__doc__)
    if others.filter(status=preset.status, name=preset.name).exists():
        raise SameName(SameName.__doc__)
    preset.save()


def by_answer(presets: Iterable[Preset]) -> list[tuple[str, list[Preset]]]:
    """Groups replies from `Preset.objects.of(user)` by the answer that they go with: Approved,
    Rejected, Redirected."""
    by_status = {status: list(rows) for status, rows in groupby(presets, lambda each: each.status)}
    return [
        (label, by_status[status])
        for status, label in Response.Status.choices
        if status in by_status
    ]


def with_saved_reply(typed: str, presets: Iterable[Preset], *, chosen: str) -> str:
    """Returns what was typed, with the text of the chosen reply below it."""
    texts = [preset.text for preset in presets if str(preset.pk) == chosen]
    return "\n".join(part for part in [typed.rstrip(), *texts] if part)
