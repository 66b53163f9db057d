"""Counts the approvals of deliveries that need more than one, because a rule or the agent asks for
them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, F, OuterRef

from accounts.models import Membership, User
from accounts.sign_in.browsers.sessions import Authentication
from wake.assignment.assigned import assigned_to, in_words
from wake.models import Delivery, Sight, Vote


@dataclass(frozen=True, slots=True)
class Quorum:
    """Holds how many approvals a delivery needs, and the approvals that count. Only approvals of
    the present content, by people who may still answer, count."""

    needed: int
    votes: list[Vote]

    @property
    def have(self) -> int:
        return len(self.votes)

    @property
    def missing(self) -> int:
        return max(0, self.needed - self.have)

    @property
    def while_waiting(self) -> dict[str, int]:
        """Returns the figures that the agent gets before the answer. The last vote of a held answer
        does not count, because that vote can still be undone."""
        return {"needed": self.needed, "have": min(self.have, self.needed - 1)}

    @property
    def missing_words(self) -> str:
        """Returns `one`, for `waiting for one more`."""
        return ("no", "one", "two", "three", "four", "five")[self.missing]

    @property
    def names(self) -> str:
        return in_words([vote.name for vote in self.votes])

    @property
    def feedback(self) -> str:
        """Returns the texts that people wrote, in the order of their votes."""
        return "\n\n".join(vote.feedback for vote in self.votes if vote.feedback)

    def waits_after(self, user_id: int) -> bool:
        """Returns whether this person has approved and others are missing."""
        return bool(self.missing) and any(vote.user_id == user_id for vote in self.votes)

    def as_json(self, *, status: str, by_name: str, at: datetime) -> str:
        """Returns the members that the agent gets beside the answer: `quorum` and `decisions`. If
        the answer is an approval, it is the last of the votes. Any other answer is added after the
        votes."""
        decided = [("approved", vote.name, vote.voted_at) for vote in self.votes]
        if status != "approved":
            decided.append((status, by_name, at))
        decisions = [
            {"status": each, "by": name, "at": when.isoformat()} for each, name, when in decided
        ]
        quorum = {"needed": self.needed, "have": self.have}
        return json.dumps({"quorum": quorum, "decisions": decisions})


def quorum_of(delivery: Delivery) -> Quorum | None:
    """Returns the quorum of a delivery. Returns None without a query if one approval is enough."""
    asked = {delivery.pk: delivery.quorum} if delivery.quorum else {}
    return quorums_of(asked, team_id=delivery.team_id).get(delivery.pk)


def quorums_of(asked: Mapping[UUID, int], *, team_id: int) -> dict[UUID, Quorum]:
    """Counts the votes for deliveries of one team. `asked` has how many votes each delivery asks
    for. Makes three queries, and none without deliveries. The quorum is capped at the people who
    can answer, so that every delivery can be answered."""
    if not asked:
        return {}
    assigned = assigned_to(asked)
    member = Membership.objects.that_answer().filter(team=team_id)
    able = list(member.values_list("user", flat=True))
    given = Vote.objects.that_count().filter(content_hash=F("delivery__content_hash"))
    votes: dict[UUID, list[Vote]] = {}
    for each in given.filter(delivery__in=asked).order_by("voted_at", "pk"):
        votes.setdefault(each.delivery_id, []).append(each)
    quorums = {}
    for pk, people in asked.items():
        of = assigned.get(pk)
        voters = {user for user in able if not (of and of.blocks(user))}
        quorums[pk] = Quorum(
            needed=max(1, min(people, len(voters))),
            votes=[each for each in votes.get(pk, []) if each.user_id in voters],
        )
    return quorums


def vote(
    delivery: Delivery,
    *,
    by: User,
    feedback: str,
    sight: Sight,
    signed_in: Authentication,
    signature_json: str = "",
    at: datetime,
) -> bool:
    """Stores the approval of the locked delivery. Returns False if the same approval is stored
    already. A signature is new each time, so a signed approval is always stored."""
    given = {"content_hash": delivery.content_hash, "feedback": feedback}
    earlier = Vote.objects.filter(delivery=delivery, user=by).first()
    is_same = earlier and (earlier.content_hash, earlier.feedback) == tuple(given.values())
    if is_same and not signature_json:
        return False
    Vote.objects.update_or_create(
        delivery=delivery,
        user=by,
        defaults={
            **given,
            "name": by.display_name,
            "voted_at": at,
            "place": sight.place,
            "all_in_sight": sight.all_in_sight,
            "amr": " ".join(signed_in.methods),
            "auth_time": signed_in.at,
            "opened_at": sight.opened_at,
            "signature_json": signature_json,
        },
    )
    return True


def without_vote_of(person: User, quorum: Quorum, *, delivery: Delivery) -> Quorum:
    """Removes the approval of a person who now decides otherwise, also if it does not count at
    present. It could count again later."""
    Vote.objects.filter(delivery=delivery, user=person).delete()
    return replace(quorum, votes=[each for each in quorum.votes if each.user_id != person.pk])


def voters_of(ids: Collection[UUID]) -> dict[UUID, list[Vote]]:
    """Returns the approvals of people who may still answer, by delivery. Makes one query, and none
    without ids."""
    if not ids:
        return {}
    member = Membership.objects.that_answer().filter(
        team=OuterRef("delivery__team"), user=OuterRef("user")
    )
    votes: dict[UUID, list[Vote]] = {}
    rows = Vote.objects.that_count().filter(Exists(member), delivery__in=ids)
    for each in rows.order_by("voted_at", "pk").defer("feedback", "signature_json"):
        votes.setdefault(each.delivery_id, []).append(each)
    return votes
