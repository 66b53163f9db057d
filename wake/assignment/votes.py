"""Counts the approvals of deliveries whose rule asks for more than one."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef

from accounts.models import Membership, User
from wake.assignment.assigned import Assigned, assignment_of, in_words
from wake.models import Delivery, Vote


@dataclass(frozen=True, slots=True)
class Quorum:
    """Holds how many approvals a delivery needs, and those that count: of people who may still
    answer it, for the content as it is."""

    needed: int
    votes: list[Vote]

    @property
    def have(self) -> int:
        return len(self.votes)

    @property
    def missing(self) -> int:
        return max(0, self.needed - self.have)

    @property
    def missing_words(self) -> str:
        """Returns `one`, for `waiting for one more`."""
        return ("no", "one", "two", "three", "four", "five")[self.missing]

    @property
    def names(self) -> str:
        return in_words([vote.name for vote in self.votes])

    @property
    def feedback(self) -> str:
        """Returns what the people wrote, in the order of their votes."""
        return "\n\n".join(vote.feedback for vote in self.votes if vote.feedback)

    def waits_after(self, user_id: int) -> bool:
        """Returns whether this person has approved, and others are missing."""
        return bool(self.missing) and any(vote.user_id == user_id for vote in self.votes)

    def as_json(self, *, status: str, by_name: str, at: datetime) -> str:
        """Returns what the agent is told beside the answer: `quorum` and `decisions`. An approval
        is the last of the votes; another answer is added to them."""
        decided = [("approved", vote.name, vote.voted_at) for vote in self.votes]
        if status != "approved":
            decided.append((status, by_name, at))
        decisions = [
            {"status": each, "by": name, "at": when.isoformat()} for each, name, when in decided
        ]
        quorum = {"needed": self.needed, "have": self.have}
        return json.dumps({"quorum": quorum, "decisions": decisions})


def quorum_of(delivery: Delivery) -> Quorum | None:
    """Returns None if one approval is enough. Makes no query in a team that never had a rule; the
    delivery is loaded with its team."""
    return quorum_in(delivery, assignment_of(delivery)) if delivery.team.rules_version else None


def quorum_in(delivery: Delivery, assigned: Assigned | None) -> Quorum | None:
    """Counts the votes; two queries. A rule that asks for more people than may answer asks for all
    of them, so that every delivery can be answered."""
    version = assigned.assignment.rule_version if assigned else None
    if assigned is None or version is None or not assigned.needs_votes:
        return None
    able = Membership.objects.that_answer().filter(team=delivery.team_id, user__is_active=True)
    voters = [pk for pk in able.values_list("user", flat=True) if not assigned.blocks(pk)]
    votes = Vote.objects.filter(
        delivery=delivery, content_hash=delivery.content_hash, user__in=voters
    )
    return Quorum(
        needed=max(1, min(version.needed, len(voters))),
        votes=list(votes.order_by("voted_at", "pk")),
    )


def vote(delivery: Delivery, *, by: User, feedback: str, at: datetime) -> bool:
    """Stores the approval of the locked delivery; returns False if it is there already, as it
    is."""
    given = {"content_hash": delivery.content_hash, "feedback": feedback}
    earlier = Vote.objects.filter(delivery=delivery, user=by).first()
    if earlier and (earlier.content_hash, earlier.feedback) == tuple(given.values()):
        return False
    Vote.objects.update_or_create(
        delivery=delivery,
        user=by,
        defaults={**given, "name": by.display_name, "voted_at": at},
    )
    return True


def without_vote_of(person: User, quorum: Quorum) -> Quorum:
    """Removes the approval of a person who decides otherwise now."""
    own = [each for each in quorum.votes if each.user_id == person.pk]
    Vote.objects.filter(pk__in=[each.pk for each in own]).delete()
    return replace(quorum, votes=[each for each in quorum.votes if each not in own])


def voters_of(ids: Collection[UUID]) -> dict[UUID, list[Vote]]:
    """Returns the approvals of those who may still answer, by delivery. Makes one query, and none
    without ids."""
    if not ids:
        return {}
    member = Membership.objects.that_answer().filter(
        team=OuterRef("delivery__team"), user=OuterRef("user"), user__is_active=True
    )
    votes: dict[UUID, list[Vote]] = {}
    rows = Vote.objects.filter(Exists(member), delivery__in=ids).order_by("voted_at", "pk")
    for each in rows.defer("feedback"):
        votes.setdefault(each.delivery_id, []).append(each)
    return votes
