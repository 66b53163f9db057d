"""Describes, for the page of a delivery, to whom the delivery is assigned and who may take it."""

from __future__ import annotations

from typing import Any

from accounts.access.viewer import Viewer
from accounts.models import User
from wake.assignment.assigned import assignment_of
from wake.assignment.votes import quorum_of
from wake.models import Delivery, Response, Vote


def assignment_context(delivery: Delivery, viewer: Viewer) -> dict[str, Any]:
    """Returns the context of the page's part about the assignment. Makes one or two queries in a
    team that has had a rule, and none in other teams. Makes three more queries if one approval is
    not enough. `is_blocked` is True if a rule lets only others answer. `may_take` is True if
    taking.take() would accept this person. `quorum` is None if one approval is enough. `has_voted`
    is True if this person approved and other approvals are missing. `agent_asks` is True if the
    agent asked for more people than a rule does. `must_wait` is True if a rule makes the agent wait
    when no one answers."""
    assigned, user_id = None, viewer.user.pk
    is_open = not (delivery.answered_at or delivery.is_closed or delivery.erased_at)
    if has_rules := viewer.has_rules(delivery.team_id):
        assigned = assignment_of(delivery)
    is_mine = assigned is not None and assigned.is_to(user_id)
    is_blocked = assigned is not None and assigned.blocks(user_id)
    may_act = viewer.is_owner if is_blocked else viewer.may_answer
    quorum = quorum_of(delivery) if is_open else None
    return {
        "quorum": quorum,
        "has_voted": quorum is not None and quorum.waits_after(user_id),
        "agent_asks": (delivery.quorum or 1) > (assigned.needed if assigned else 1),
        "assigned": assigned,
        "must_wait": assigned is not None and assigned.makes_wait(delivery),
        "is_mine": is_mine,
        "is_blocked": is_blocked,
        "may_take": has_rules and is_open and not is_mine and may_act(delivery.team_id),
    }


def has_voted(response: Response, person: User) -> bool:
    """Returns whether this person's vote is part of the response. Makes no query if one person
    decided."""
    if not response.is_of_votes:
        return False
    return Vote.objects.filter(delivery=response.delivery_id, user=person).exists()
