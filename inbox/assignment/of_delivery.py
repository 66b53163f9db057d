"""Says on the page of a delivery whom it is assigned to, and who may take it."""

from __future__ import annotations

from typing import Any

from inbox.pages.viewer import Viewer
from wake.assignment.assigned import assignment_of
from wake.models import Delivery


def assignment_context(delivery: Delivery, viewer: Viewer) -> dict[str, Any]:
    """Makes one or two queries in a team that has had a rule, and none in others. `is_blocked` says
    that a rule lets only others answer, and `may_take` that taking.take() would accept."""
    if not viewer.has_rules(delivery.team_id):
        return {"assigned": None, "is_mine": False, "is_blocked": False, "may_take": False}
    assigned, user_id = assignment_of(delivery), viewer.user.pk
    is_mine = assigned is not None and assigned.is_to(user_id)
    is_blocked = assigned is not None and assigned.blocks(user_id)
    may_act = viewer.is_owner if is_blocked else viewer.may_answer
    is_open = not (delivery.answered_at or delivery.is_closed or delivery.erased_at)
    return {
        "assigned": assigned,
        "is_mine": is_mine,
        "is_blocked": is_blocked,
        "may_take": is_open and not is_mine and may_act(delivery.team_id),
    }
