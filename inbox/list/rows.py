"""One line of a list, with everything that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Subquery

from accounts.encryption import Unreadable
from accounts.models import Agent, ApiKey, User
from inbox.reading import with_reading
from inbox.viewer import Viewer
from inbox.windows import closes_soon, window
from wake.models import Delivery, DeliveryQuerySet, Response

# None of these is on a line, and the first may be 256 kB.
NOT_SHOWN = ("details_json", "extensions", "assumption", "callback_webhook")


@dataclass(frozen=True, slots=True)
class Row:
    """`claimed` and `team` are empty where they would say nothing new."""

    delivery: Delivery
    agent: str
    claimed: str
    team: str
    window: str
    is_past: bool
    needs_no_answer: bool
    closes_soon: bool
    may_answer: bool
    is_read: bool
    # Who is answering it just now, where that is somebody else.
    held_by: str
    is_key_revoked: bool

    @property
    def may_act(self) -> bool:
        return self.may_answer and not self.held_by

    @property
    def may_be_acknowledged(self) -> bool:
        """As wake/acknowledgements.py will see it."""
        return self.may_act and self.needs_no_answer


def listed(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """The columns of a line."""
    name = Agent.objects.filter(pk=OuterRef("agent_id")).values("agent_id")
    return rows.annotate(agent_name=Subquery(name)).defer(*NOT_SHOWN)


def waiting(rows: DeliveryQuerySet, user: User) -> DeliveryQuerySet:
    """The columns of a line of the inbox: whether this person opened it, too, who is answering it
    just now, and whether its key was revoked."""
    answer = Response.objects.filter(delivery=OuterRef("pk"))
    key = ApiKey.objects.filter(agent=OuterRef("agent"), hint=OuterRef("key_hint"))
    return with_reading(listed(rows), user).annotate(
        held_by=Subquery(answer.values("by_name")[:1]),
        is_key_revoked=Exists(key.filter(revoked_at__isnull=False)),
    )


def with_assumption(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """The same, with what the agent says that it will do if nobody answers."""
    return listed(rows).defer(None).defer(*(name for name in NOT_SHOWN if name != "assumption"))


def assumption_of(delivery: Delivery) -> str:
    """Empty where its encryption key is gone: that keeps no other line from anybody."""
    try:
        return delivery.assumption
    except Unreadable:
        return ""


def row_of(delivery: Delivery, viewer: Viewer, *, at: datetime) -> Row:
    """Of a delivery that was `listed`; of one that is `waiting` it says more."""
    agent: str = delivery.agent_name  # type: ignore[attr-defined]
    claimed = delivery.claimed_agent_id
    return Row(
        delivery=delivery,
        agent=agent,
        claimed=claimed if claimed != agent else "",
        team=viewer.team_label(delivery.team_id),
        window=window(delivery, at),
        is_past=delivery.is_past_deadline(at),
        needs_no_answer=delivery.needs_no_answer(at),
        closes_soon=closes_soon(delivery, at),
        may_answer=viewer.may_answer(delivery.team_id),
        is_read=bool(getattr(delivery, "is_read", False)),
        held_by=getattr(delivery, "held_by", None) or "",
        is_key_revoked=bool(getattr(delivery, "is_key_revoked", False)),
    )
