"""Finds the accounts of the people of a team on the other server.

An account there with the same address may belong to someone else: an address is no proof of who a
person is, unless someone checked it. So the operator names each account that is the same person,
and nothing is given to any other account. New accounts have no password and no other way to sign
in. A person who proves the address, by a mail or at the sign-in provider, chooses one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from accounts.audit import Actor, record
from accounts.models import TeamMove, User
from wake.management.moving.tables import moved_tables
from wake.models import RuleVersion

Person = dict[str, Any]


class AccountsExist(Exception):
    """Accounts with these addresses exist here."""

    def __init__(self, emails: Collection[str]) -> None:
        super().__init__(
            f"These accounts exist here already: {', '.join(sorted(emails))}. If each belongs to "
            "the same person as on the other server, repeat this with --same-person and each "
            "address. Nothing was stored."
        )


def people_of(move: TeamMove) -> list[Person]:
    """Returns the people whom the rows of the team name: members, and people who answered or wrote
    something before they left."""
    ids = {int(pk) for pk in move.memberships.values_list("user", flat=True)}
    for table in moved_tables():
        for field in table.fields:
            if field.related_model is User:
                rows = table.rows_of(move.team_id).order_by()
                ids |= set(rows.values_list(field.attname, flat=True).distinct())
    for version in RuleVersion.objects.filter(rule__team=move.team_id):
        ids |= {*version.people, *(pk for step in version.escalation for pk in step["people"])}
    people = User.objects.filter(pk__in=ids - {None}).order_by("pk")
    columns = ("id", "email", "display_name", "time_zone", "is_active")
    return [dict(person) for person in people.values(*columns)]


def accounts_of(
    people: Collection[Person], *, same: Collection[str], all_same: bool, by: Actor
) -> dict[int, int]:
    """Returns the ids of the people's accounts on this server, by their ids on the other server.
    Adds the accounts that do not exist. Raises AccountsExist if accounts exist that are not named
    in `same`."""
    emails = [person["email"] for person in people]
    existing = {user.email: user for user in User.objects.filter(email__in=emails)}
    unnamed = existing.keys() - {email.strip().lower() for email in same}
    if unnamed and not all_same:
        raise AccountsExist(unnamed)
    return {
        person["id"]: (existing.get(person["email"]) or _added(person, by=by)).pk
        for person in people
    }


def _added(person: Person, *, by: Actor) -> User:
    facts = {name: person[name] for name in ("display_name", "time_zone", "is_active")}
    user = User.objects.create_user(person["email"], None, **facts)
    record("person.added", by=by, of=user, team=None, is_superuser=False)
    return user
