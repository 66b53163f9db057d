"""Finds out from the audit which person had which role in a team, and when."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from accounts.models import AuditEvent, Membership, Team, User
from accounts.people.data.removal import known_as_number

BEGINNINGS = ("membership.added", "membership.joined", "membership.reactivated")
ENDS = ("membership.removed", "membership.left", "membership.deactivated")
CHANGES = ("membership.changed", "team.handed_over")
# A membership in the audit is named `Mira in Home (owner)`.
NAMED = re.compile(r"(?P<name>.*?) in .*?(?: \((?P<role>owner|reviewer|reader)\))?", re.DOTALL)


@dataclass(slots=True)
class HeldRole:
    """Says that a person had a role from `since` (None: from the team's beginning) until `until`
    (None: until now). `person_id` is empty if no event and no membership names the person."""

    membership_id: str
    role: str
    since: datetime | None
    until: datetime | None = None
    person_id: str = ""
    name: str = ""


class Roles:
    """Holds the roles of a team's people."""

    def __init__(self, held: Sequence[HeldRole]) -> None:
        self.held = held
        self._of_person: defaultdict[str, list[HeldRole]] = defaultdict(list)
        for each in held:
            self._of_person[each.person_id].append(each)

    def at(self, person_id: str, at: datetime) -> str:
        """Returns the role that the person had at this time, or an empty text if the audit does not
        say."""
        for each in self._of_person[person_id] if person_id else ():
            if (each.since is None or each.since <= at) and (each.until is None or at < each.until):
                return each.role
        return ""


def roles_of(team: Team, *, until: datetime) -> Roles:
    """Reads the team's events about its members, in two queries and one for the people's names.
    Events of earlier versions do not identify the person. For these events, the membership
    identifies the person, if the membership still exists."""
    names = [*BEGINNINGS, *ENDS, *CHANGES]
    events = AuditEvent.objects.filter(team_id=team.pk, event__in=names, at__lt=until)
    history = _History()
    for event in events.order_by("at", "pk").iterator():
        history.add(event)
    history.add_current(Membership.objects.filter(team=team, created_at__lt=until).order_by("pk"))
    return Roles(history.named())


class _History:
    """Builds the roles from the events, oldest first."""

    def __init__(self) -> None:
        self.held: list[HeldRole] = []
        self._open: dict[str, HeldRole] = {}
        self._ended: set[str] = set()
        self._people: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def add(self, event: AuditEvent) -> None:
        pk, detail = event.object_id, event.detail
        if person := _person(event):
            self._people[pk] = person
        named = NAMED.fullmatch(event.object_name)
        if named and named["name"]:
            self._names[pk] = named["name"]
        role = str(detail.get("role") or (named and named["role"]) or "")
        if event.event in ENDS:
            self._ended.add(pk)
            self._end(pk, event.at, role=role)
        elif event.event == "team.handed_over":
            self._hand_over(event)
        else:
            self._begin(pk, role, event.at, before=str(detail.get("before") or ""))

    def add_current(self, memberships: Iterable[Membership]) -> None:
        """Adds the memberships that no event began or ended, such as that of the person who created
        the team. A deactivated person still has the membership, but no role."""
        for membership in memberships:
            pk = str(membership.pk)
            self._people[pk] = str(membership.user_id)
            if pk not in self._open and pk not in self._ended:
                self._begin(pk, membership.role, membership.created_at)

    def named(self) -> list[HeldRole]:
        """Returns the roles with the people's present names. The name of a removed account is a
        number."""
        for each in self.held:
            each.person_id = self._people.get(each.membership_id, "")
        ids = {int(each.person_id) for each in self.held if each.person_id.isdigit()}
        people = User.objects.in_bulk(ids)
        for each in self.held:
            if not each.person_id.isdigit():
                each.name = self._names.get(each.membership_id, "")
            elif person := people.get(int(each.person_id)):
                each.name = person.display_name
            else:
                each.name = known_as_number(int(each.person_id))
        return self.held

    def _begin(self, pk: str, role: str, at: datetime, *, before: str = "") -> None:
        self._end(pk, at, role=before)
        self._open[pk] = HeldRole(pk, role, at)
        self.held.append(self._open[pk])

    def _end(self, pk: str, at: datetime, *, role: str) -> None:
        """Ends the role. If no event began the membership, the person had the role from the team's
        beginning."""
        held = self._open.pop(pk, None)
        if held is None and role:
            held = HeldRole(pk, role, None)
            self.held.append(held)
        if held is not None:
            held.until = at

    def _hand_over(self, event: AuditEvent) -> None:
        former = str(event.detail.get("former_membership") or "") or self._owner(event)
        before = str(event.detail.get("before") or "")
        self._begin(event.object_id, Membership.Role.OWNER, event.at, before=before)
        if former:
            self._begin(former, Membership.Role.REVIEWER, event.at, before=Membership.Role.OWNER)

    def _owner(self, event: AuditEvent) -> str:
        """Returns the membership of the former owner. Events of earlier versions have only the
        owner's name, and no id."""
        owners = [pk for pk, held in self._open.items() if held.role == Membership.Role.OWNER]
        return next((pk for pk in owners if self._people.get(pk) == event.actor_id), "")


def _person(event: AuditEvent) -> str:
    if person := event.detail.get("person"):
        return str(person)
    is_own = event.event in {"membership.joined", "membership.left"}
    return event.actor_id if is_own and event.actor_kind == "person" else ""
