"""Makes teams and names them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from accounts.audit import Actor, person, record
from accounts.models import Membership, Team, User

# Every page asks each team of a person on its own.
MOST_OWNED = 20
LONGEST_STEM = 40


class TooManyTeams(Exception):
    """You own as many teams as one person can: hand one over first."""


@transaction.atomic
def create(name: str, *, owner: User, address: str = "") -> Team:
    """Raises TooManyTeams. Its handle comes from its name, and stays: agents are called by it."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if owner.memberships.filter(role=Membership.Role.OWNER).count() >= MOST_OWNED:
        raise TooManyTeams(TooManyTeams.__doc__)
    team = _stored(name)
    Membership.objects.create(team=team, user=owner, role=Membership.Role.OWNER)
    record("team.added", by=person(owner, address), of=team, team=team)
    return team


@transaction.atomic
def rename(team: Team, name: str, *, by: Actor) -> None:
    """The same name again is no event."""
    before = Team.objects.select_for_update(no_key=True).get(pk=team.pk).name
    if name == before:
        return
    team.name = name
    team.save(update_fields=["name"])
    record("team.renamed", by=by, of=team, team=team, before=before)


def _stored(name: str) -> Team:
    """Under the first handle that is free: asking first would not help two who ask at once."""
    for slug in _handles(slugify(name)[:LONGEST_STEM].strip("-_") or "team"):
        try:
            with transaction.atomic():
                return Team.objects.create(slug=slug, name=name)
        except IntegrityError:
            continue
    raise AssertionError("The handles never end.")


def _handles(stem: str) -> Iterator[str]:
    yield stem
    for number in count(2):
        yield f"{stem}-{number}"
