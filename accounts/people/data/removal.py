"""Removes a person's account. The person's decisions stay, under a number instead of the name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import OperationalError, transaction

from accounts.audit import Actor, record
from accounts.models import User
from accounts.people import leaving, signals
from database.outages import is_busy

ATTEMPTS = 3
_names_of: list[Callable[[User], set[str]]] = []


def register_names(names_of: Callable[[User], set[str]]) -> None:
    """Registers a function that returns the former names of a person in the rows of an app. The
    signal person_removed then replaces these names as well. Apps call this when they start."""
    _names_of.append(names_of)


def known_as(user: User) -> str:
    """Returns the name that replaces the person's name: `Person 17`."""
    return known_as_number(user.pk)


def known_as_number(pk: int) -> str:
    return f"Person {pk}"


def remove(user: User, *, by: Actor, at: datetime) -> str:
    """Deletes the person and everything that belongs only to them. Returns the name that replaces
    the person's name. The audit keeps their name (docs/privacy.md). Raises leaving.OwnsAlone and
    User.DoesNotExist.

    The removal starts over if PostgreSQL ends its transaction because of a deadlock."""
    for _ in range(ATTEMPTS - 1):
        try:
            return _remove(user.pk, by=by, at=at)
        except OperationalError as error:
            if not is_busy(error):
                raise
    return _remove(user.pk, by=by, at=at)


@transaction.atomic
def _remove(pk: int, *, by: Actor, at: datetime) -> str:
    # An uncommitted answer waits for this lock at its commit, and then fails. Otherwise the answer
    # could be stored after the names were replaced, and would keep the old name.
    user = User.objects.select_for_update().get(pk=pk)
    leaving.end_memberships(user, by=by)
    record("person.removed", by=by, of=user, team=None, at=at)
    name, names = known_as(user), _own_names(user)
    signals.person_removed.send(sender=User, user=user, names=names, by=name)
    leaving.delete_account(user, names=names, known_as=name, by=by, at=at)
    return name


def _own_names(user: User) -> set[str]:
    """Returns the names that the person has had and no other person has. A row that stores only a
    name keeps the name if two people have it, because the row may be about the other person."""
    names = {user.display_name}.union(*(names_of(user) for names_of in _names_of))
    others = User.objects.exclude(pk=user.pk).filter(display_name__in=names)
    return names - set(others.values_list("display_name", flat=True)) - {""}
