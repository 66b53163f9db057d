"""Describes everything of a team through the models, without the numbers of its server.

The code that moves teams is not used here, so that a mistake of that code is seen."""

from __future__ import annotations

from typing import Any

from accounts.models import AuditEvent, Membership, Team, User
from database import encryption
from inbox.models import Notification
from wake.management.moving.tables import every_table, moved_tables
from wake.models import RuleVersion

# The other server changes these columns on purpose.
NOT_COMPARED = {
    "wake.Response": {"release_at"},  # the time to undo an answer goes on after the move
    # The database ends shared assignments when memberships change, and they are set aside.
    "wake.Assignment": {"current_until"},
    "relay.Run": {"connector_id"},  # a connector connects again
}
PEOPLE = {"people", "escalation"}  # with numbers, which `_facts` translates
Facts = dict[str, list[Any]]


def everything_of(team: Team) -> Facts:
    """Returns the rows of each moved table, decrypted, with addresses instead of people's
    numbers."""
    emails = dict(User.objects.values_list("pk", "email"))
    facts: Facts = {}
    for table in moved_tables():
        rows = table.rows_of(team.pk)
        facts[table.label] = [_facts(row, emails) for row in rows]
    facts["accounts.Membership"] = sorted(
        [each.user.email, each.role, each.created_at]
        for each in Membership.objects.filter(team=team).select_related("user")
    )
    return facts


def events_of(team: Team) -> list[Any]:
    columns = ("at", "event", "actor_kind", "actor_name", "object_kind", "object_name", "address")
    return list(AuditEvent.objects.filter(team_id=team.pk).order_by("pk").values_list(*columns))


def raw_rows(*, but: Team | None = None) -> dict[str, list[Any]]:
    """Returns every row of the tables of teams as it is stored. Leaves out one team, and the rows
    that say where teams are."""
    left_out = but.pk if but else 0
    return {
        table.label: list(
            table.model._base_manager.exclude(pk__in=table.every_row_of(left_out).values("pk"))
            .order_by("pk")
            .values()
        )
        for table in every_table()
        if "Move" not in table.label
    }


def _facts(row: Any, emails: dict[int, str]) -> dict[str, Any]:
    names = [field.attname for field in row._meta.concrete_fields]
    facts = {name: _plain(row, name, emails) for name in names}
    for name in NOT_COMPARED.get(row._meta.label, ()):
        del facts[name]
    if isinstance(row, RuleVersion):
        facts["people"] = [emails.get(pk) for pk in row.people]
        facts["escalation"] = [
            [step["minutes"], step["role"], [emails.get(pk) for pk in step["people"]]]
            for step in row.escalation
        ]
    if isinstance(row, Notification) and row.event == "mention":
        facts["key"] = "a mention"
    return facts


def _plain(row: Any, name: str, emails: dict[int, str]) -> Any:
    field = next(each for each in row._meta.concrete_fields if each.attname == name)
    value = getattr(row, name)
    if name.endswith("ciphertext") and value:
        return encryption.decrypt(value.encode())
    if field.related_model is User:
        return emails.get(value)
    if field.related_model and isinstance(value, int):
        return _named(getattr(row, field.name))
    if field.primary_key and isinstance(value, int):
        return None
    return bytes(value) if isinstance(value, memoryview) else value


def _named(row: Any) -> Any:
    """Names a row that has another number on the other server."""
    if isinstance(row, Team):
        return row.slug
    own = [
        getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not (field.related_model or field.primary_key or field.name in PEOPLE)
    ]
    return repr(own)
