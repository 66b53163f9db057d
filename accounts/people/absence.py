"""Stores that a person is away, and who stands in for them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.audit import person, record
from accounts.models import Absence, Membership, User


def absence_of(user: User, *, at: datetime) -> Absence | None:
    """Returns the absence unless it is over."""
    return Absence.objects.current(at).filter(user=user).select_related("deputy").first()


def possible_deputies(user: User) -> list[User]:
    """Returns, sorted by name, the people who may answer in a team in which this person answers."""
    teams = Membership.objects.that_answer().filter(user=user).values("team")
    colleagues = Membership.objects.that_answer().filter(team__in=teams)
    people = User.objects.filter(pk__in=colleagues.values("user")).exclude(pk=user.pk)
    return list(people.order_by("display_name", "pk"))


@transaction.atomic
def change_absence(
    user: User, *, until: datetime | None, deputy: User | None, at: datetime, address: str = ""
) -> None:
    """Stores the absence; without `until`, ends it. Earlier assignments stay as they are."""
    if until is None:
        ended, _ = Absence.objects.current(at).filter(user=user).delete()
        if not ended:
            return
    else:
        Absence.objects.update_or_create(user=user, defaults={"until": until, "deputy": deputy})
    record(
        "person.away" if until else "person.back",
        by=person(user, address),
        of=user,
        team=None,
        at=at,
        until=until.isoformat() if until else None,
        deputy=deputy.pk if until and deputy else None,
    )
