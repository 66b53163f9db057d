"""Creates and renames teams."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from accounts.audit import Actor, person, record
from accounts.models import Membership, Passkey, Team, User
from accounts.sign_in.two_step import second_factor
from database.clock import database_now

# There is a limit, because the lists of a page have a SELECT for each team of a person.
MAX_OWNED = 20
LONGEST_STEM = 40


class TooManyTeams(Exception):
    """You own as many teams as one person can: hand one over first."""


class OwnSecondFactorMissing(Exception):
    """Set up two-step sign-in for yourself first."""


class NoOneHasPasskey(Exception):
    """No one who can answer in this team has a passkey."""


@transaction.atomic
def create(name: str, *, owner: User, address: str = "") -> Team:
    """Creates a team. The handle is made from the team's name and never changes, because callers
    use the handle in agents' addresses. Raises TooManyTeams."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    if owner.memberships.filter(role=Membership.Role.OWNER).count() >= MAX_OWNED:
        raise TooManyTeams(TooManyTeams.__doc__)
    team = _stored(name)
    Membership.objects.create(team=team, user=owner, role=Membership.Role.OWNER)
    record("team.added", by=person(owner, address), of=team, team=team)
    return team


@transaction.atomic
def rename(team: Team, name: str, *, by: Actor) -> None:
    """Renames the team. Setting the name that the team already has is not recorded."""
    before = Team.objects.select_for_update(no_key=True).get(pk=team.pk).name
    if name == before:
        return
    team.name = name
    team.save(update_fields=["name"])
    record("team.renamed", by=by, of=team, team=team, before=before)


@transaction.atomic
def require_second_factor(team: Team, *, is_required: bool, by: User, address: str = "") -> None:
    """Admits members only with a second factor, from their next request on, or stops requiring it.
    API keys are not affected. Requesting the same again is not recorded. Raises
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


@transaction.atomic
def sign_irreversible(
    team: Team, *, is_on: bool, knows_no_one_can: bool, by: User, address: str = ""
) -> None:
    """Asks for a passkey for each approval of an irreversible delivery, or stops asking. The change
    also affects deliveries that wait now. Requesting the same again is not recorded. Raises
    NoOneHasPasskey if no one who answers in the team has a passkey. `knows_no_one_can` turns this
    check off."""
    team = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if is_on == team.signs_irreversible:
        return
    if is_on and not knows_no_one_can and not Passkey.objects.that_answer_in(team).exists():
        raise NoOneHasPasskey(NoOneHasPasskey.__doc__)
    team.signs_irreversible = is_on
    team.save(update_fields=["signs_irreversible"])
    event = "team.signs_irreversible" if is_on else "team.signs_no_irreversible"
    record(event, by=person(by, address), of=team, team=team)


def _stored(name: str) -> Team:
    """Stores a team under the first free handle. Looking for a free handle first would not help if
    two requests come at the same time."""
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
