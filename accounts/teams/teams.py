"""Creates and renames teams."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from accounts.audit import Actor, person, record
from accounts.models import Membership, Team, User
from accounts.sign_in import second_factor
from database.clock import database_now

# Every page has a query for each team of a person.
MOST_OWNED = 20
LONGEST_STEM = 40


class TooManyTeams(Exception):
    """You own as many teams as one person can: hand one over first."""


class OwnSecondFactorMissing(Exception):
    """Set up two-step sign-in for yourself first."""


@transaction.atomic
def create(name: str, *, owner: User, address: str = "") -> Team:
    """Creates a team. Its handle is made from its name and never changes, because agents are called
    by it. Raises TooManyTeams."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if owner.memberships.filter(role=Membership.Role.OWNER).count() >= MOST_OWNED:
        raise TooManyTeams(TooManyTeams.__doc__)
    team = _stored(name)
    Membership.objects.create(team=team, user=owner, role=Membership.Role.OWNER)
    record("team.added", by=person(owner, address), of=team, team=team)
    return team


@transaction.atomic
def rename(team: Team, name: str, *, by: Actor) -> None:
    """Renames the team; the same name again is not recorded."""
    before = Team.objects.select_for_update(no_key=True).get(pk=team.pk).name
    if name == before:
        return
    team.name = name
    team.save(update_fields=["name"])
    record("team.renamed", by=by, of=team, team=team, before=before)


@transaction.atomic
def require_second_factor(team: Team, *, is_required: bool, by: User, address: str = "") -> None:
    """Lets members in only with a second factor, from their next request on, or stops requiring it.
    API keys are not affected. Asking for the same again is not recorded. Raises
    OwnSecondFactorMissing."""
    team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if is_required == (team.second_factor_required_at is not None):
        return
    if is_required and not second_factor.is_on(by):
        raise OwnSecondFactorMissing(OwnSecondFactorMissing.__doc__)
    team.second_factor_required_at = database_now() if is_required else None
    team.save(update_fields=["second_factor_required_at"])
    event = "team.second_factor_required" if is_required else "team.second_factor_not_required"
    record(event, by=person(by, address), of=team, team=team)


def _stored(name: str) -> Team:
    """Stores a team under the first free handle. Looking for one first would not help two requests
    at the same moment."""
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
