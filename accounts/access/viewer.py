"""Describes the viewer of a page: their teams, and what they may do in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Self

from django.db.models import QuerySet

from accounts.models import Membership, User
from database.compiled_queries import CompiledQuery, parameter

# A function that adds a number, such as `mention_count`, to each membership of a query.
Count = Callable[[QuerySet[Membership]], QuerySet[Membership]]
_counts: dict[str, Count] = {}


def register_count(name: str, with_count: Count) -> None:
    """Registers a number, such as the count of unread mentions. The number is then loaded with the
    memberships of a viewer. Apps call this when they start."""
    _counts[name] = with_count


@dataclass(frozen=True)
class Viewer:
    user: User
    memberships: dict[int, Membership]

    @classmethod
    def of(cls, user: User) -> Self:
        """Returns the viewer, with one query for the person's memberships."""
        mine: list[Membership] = _memberships().objects(user=user.pk)
        for membership in mine:
            membership.user = user
        return cls(user, {membership.team_id: membership for membership in mine})

    @property
    def counts(self) -> dict[str, int]:
        """Returns the registered numbers, each added up over all of the viewer's teams."""
        rows = self.memberships.values()
        return {name: sum(getattr(row, name) for row in rows) for name in _counts}

    @property
    def team_ids(self) -> list[int]:
        return list(self.memberships)

    @property
    def answered_team_ids(self) -> list[int]:
        """Returns the ids of the teams in which the viewer may answer."""
        return [team_id for team_id in self.memberships if self.may_answer(team_id)]

    @property
    def owned_team_ids(self) -> list[int]:
        return [team_id for team_id in self.memberships if self.is_owner(team_id)]

    @property
    def ruled_team_ids(self) -> list[int]:
        """Returns the ids of the teams that have ever had an assignment rule. Assignments are
        looked up only in these teams."""
        return [team_id for team_id in self.memberships if self.has_rules(team_id)]

    def within(self, slug: str) -> Self | None:
        """Returns the viewer as a member of only this team, or None if they do not belong to it."""
        for team_id, membership in self.memberships.items():
            if membership.team.slug == slug:
                return replace(self, memberships={team_id: membership})
        return None

    def may_answer(self, team_id: int) -> bool:
        return self._role(team_id) in {Membership.Role.OWNER, Membership.Role.REVIEWER}

    def is_owner(self, team_id: int) -> bool:
        return self._role(team_id) == Membership.Role.OWNER

    def has_rules(self, team_id: int) -> bool:
        membership = self.memberships.get(team_id)
        return membership is not None and membership.team.rules_version > 0

    def signs_irreversible(self, team_id: int) -> bool:
        """Returns whether approving an irreversible delivery of this team needs a passkey."""
        membership = self.memberships.get(team_id)
        return membership is not None and membership.team.signs_irreversible

    def team_label(self, team_id: int) -> str:
        """Returns the team's name if the person belongs to more than one."""
        membership = self.memberships.get(team_id)
        return membership.team.name if membership and len(self.memberships) > 1 else ""

    def _role(self, team_id: int) -> str:
        """Returns the role, or an empty text if the membership ended while the page was made."""
        membership = self.memberships.get(team_id)
        return membership.role if membership else ""


@cache
def _memberships() -> CompiledQuery:
    own_rows = Membership.objects.filter(user=parameter("user", Membership, "user"))
    rows = own_rows.select_related("team").order_by("team__name", "team_id")
    return CompiledQuery(lambda: reduce(lambda each, add: add(each), _counts.values(), rows))
