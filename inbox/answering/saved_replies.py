"""A person's saved phrases, which save typing and go to the agent as any other feedback."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from django.db import transaction

from accounts.models import User
from inbox.models import Preset
from wake.models import Response

MOST = 40


class TooMany(Exception):
    """You have as many saved phrases as there is room for: remove one first."""


class SameName(Exception):
    """You have a phrase of that name for this answer already."""


@transaction.atomic
def save_phrase(preset: Preset) -> None:
    """A new one or a changed one, checked by its form; raises TooMany and SameName."""
    User.objects.select_for_update().get(pk=preset.user_id)  # one at a time, so that both hold
    others = Preset.objects.of(preset.user).exclude(pk=preset.pk)
    if preset._state.adding and others.count() >= MOST:
        raise TooMany(TooMany.__doc__)
    if others.filter(status=preset.status, name=preset.name).exists():
        raise SameName(SameName.__doc__)
    preset.save()


def by_answer(presets: Iterable[Preset]) -> list[tuple[str, list[Preset]]]:
    """Those of `Preset.objects.of(user)` under the answer that they go with: Approved, Rejected,
    Redirected."""
    found = {status: list(rows) for status, rows in groupby(presets, lambda each: each.status)}
    return [(label, found[status]) for status, label in Response.Status.choices if status in found]


def with_phrase(typed: str, presets: Iterable[Preset], *, chosen: str) -> str:
    """What was typed, and below it the phrase of that id, where it is one of these."""
    texts = [preset.text for preset in presets if str(preset.pk) == chosen]
    return "\n".join(part for part in [typed.rstrip(), *texts] if part)
