"""Builds one row of a list of deliveries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Self
from uuid import UUID

from django.db.models import Exists, OuterRef, Subquery
from django.urls import reverse
from django.utils.safestring import SafeString

from accounts.access.viewer import Viewer
from accounts.models import Agent, ApiKey
from database.encryption import Unreadable
from inbox.reading.deadlines import closes_soon, deadline_text, time_left
from inbox.reading.done import Done
from inbox.reading.in_sight import is_short, with_is_bare
from inbox.reading.readings import with_reading
from wake.assignment.assigned import Assigned, assigned_to, in_words
from wake.models import Delivery, DeliveryQuerySet, Response, Vote

# A row shows none of these columns, and the first one may have 256 kB.
UNUSED_COLUMNS = ("details_json", "extensions", "assumption", "callback_webhook")


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """Shows one delivery in a list. `claimed` and `team` are empty if they would repeat known
    facts."""

    delivery: Delivery
    agent: str
    claimed: str
    team: str
    deadline: str
    is_past: bool
    needs_no_answer: bool
    closes_soon: bool
    # Set only if the deadline is within an hour.
    time_left: str
    may_answer: bool
    is_read: bool
    # The name of the person whose answer is held.
    held_by: str
    is_key_revoked: bool
    # This person's own recent answer.
    done: Done | None = None
    # The assigned people who may still answer, and whether only these people may.
    assigned_names: str = ""
    only_they: bool = False
    is_mine: bool = False
    # Whether a rule lets only others answer.
    is_blocked: bool = False
    # The people who approved the delivery, if one approval is not enough, and whether this person
    # did.
    approved_by: str = ""
    has_voted: bool = False
    # Where a search found its words, if the row does not show these places in another way.
    excerpt: str = ""
    # A colleague who is reading the delivery now.
    reader: str = ""
    # Whether the row shows everything that the agent sent.
    is_whole: bool = False
    # Whether people approve the delivery with a passkey.
    must_be_signed: bool = False

    @property
    def path(self) -> str:
        return _path_to("delivery", self.delivery.pk)

    @property
    def answer_path(self) -> str:
        return _path_to("response", self.delivery.pk)

    @property
    def is_open(self) -> bool:
        """Returns whether the delivery still waits for an answer or a "Got it"."""
        return not (self.delivery.answered_at or self.delivery.acknowledged_at)

    def with_excerpt(self, excerpts: Mapping[UUID, SafeString]) -> Self:
        return replace(self, excerpt=excerpts.get(self.delivery.pk, ""))

    @property
    def may_act(self) -> bool:
        return self.may_answer and self.is_open

    @property
    def may_send(self) -> bool:
        """Returns whether this person may answer the delivery, and not only acknowledge it."""
        return self.may_answer and not self.is_blocked and not self.has_voted

    @property
    def provider(self) -> str:
        """Returns the provider if a person has to see the provider before they approve in the row.
        Otherwise returns an empty text."""
        return self.delivery.provider if self.may_be_approved else ""

    @property
    def may_be_approved(self) -> bool:
        """Returns whether the row offers an approval. Questions are answered on their pages."""
        return self.may_send and self.is_whole and self.delivery.type == Delivery.Type.OUTPUT

    @property
    def needs_passkey(self) -> bool:
        """Returns whether this person approves the delivery with their passkey, on its page."""
        return self.may_send and self.is_open and self.must_be_signed

    @property
    def may_be_acknowledged(self) -> bool:
        """Returns whether wake/acknowledgements.py would accept the delivery."""
        return self.may_act and self.needs_no_answer


def listed(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Adds and defers columns, so that each delivery has the columns of a row."""
    name = Agent.objects.filter(pk=OuterRef("agent_id")).values("agent_id")
    return rows.annotate(agent_name=Subquery(name)).defer(*UNUSED_COLUMNS)


def waiting(rows: DeliveryQuerySet, viewer: Viewer) -> DeliveryQuerySet:
    """Adds the columns of an inbox row: read or not, who is answering it, key revoked or not, and
    whether there is more to read than the row shows."""
    answer = Response.objects.filter(delivery=OuterRef("pk"))
    key = ApiKey.objects.filter(agent=OuterRef("agent"), hint=OuterRef("key_hint"))
    return with_is_bare(with_reading(listed(rows), viewer.user)).annotate(
        held_by=Subquery(answer.values("by_name")[:1]),
        is_key_revoked=Exists(key.filter(revoked_at__isnull=False)),
    )


def with_assumption(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    """Loads the row's columns and the agent's assumption."""
    return (
        listed(rows).defer(None).defer(*(name for name in UNUSED_COLUMNS if name != "assumption"))
    )


def assumptions_of(deliveries: Collection[Delivery], viewer: Viewer) -> dict[UUID, str]:
    """Returns the assumption of each delivery. The assumption is empty if a rule makes the agent
    wait instead. Makes one query if a delivery with on_timeout `hold` is in a team with rules."""
    holding = [
        row.pk
        for row in deliveries
        if row.on_timeout == Delivery.OnTimeout.HOLD and viewer.has_rules(row.team_id)
    ]
    assigned = assigned_to(holding) if holding else {}
    made_to_wait = {
        row.pk for row in deliveries if row.pk in assigned and assigned[row.pk].makes_wait(row)
    }
    return {row.pk: "" if row.pk in made_to_wait else _assumption_of(row) for row in deliveries}


def _assumption_of(delivery: Delivery) -> str:
    """Returns the assumption. Returns an empty text if the assumption's encryption key is lost, so
    that the other rows still appear."""
    try:
        return delivery.assumption
    except Unreadable:
        return ""


def row_of(
    delivery: Delivery,
    viewer: Viewer,
    *,
    at: datetime,
    assigned: Assigned | None = None,
    votes: Sequence[Vote] = (),
    reader: str = "",
) -> DeliveryRow:
    """Builds a row from a `listed` delivery. A delivery from `waiting` fills every field of the row
    that has no argument of its own."""
    agent: str = delivery.agent_name  # type: ignore[attr-defined]
    claimed = delivery.claimed_agent_id
    is_soon = closes_soon(delivery, at)
    return DeliveryRow(
        delivery=delivery,
        agent=agent,
        claimed=claimed if claimed != agent else "",
        team=viewer.team_label(delivery.team_id),
        deadline=deadline_text(delivery, at),
        is_past=delivery.is_past_deadline(at),
        needs_no_answer=delivery.needs_no_answer(at),
        closes_soon=is_soon,
        time_left=time_left(delivery, at) if is_soon else "",
        may_answer=viewer.may_answer(delivery.team_id),
        is_read=bool(getattr(delivery, "is_read", False)),
        held_by=getattr(delivery, "held_by", None) or "",
        is_key_revoked=bool(getattr(delivery, "is_key_revoked", False)),
        assigned_names=assigned.names if assigned is not None and assigned.able else "",
        only_they=assigned is not None and assigned.only_they,
        is_mine=assigned is not None and assigned.is_to(viewer.user.pk),
        is_blocked=assigned is not None and assigned.blocks(viewer.user.pk),
        reader=reader,
        approved_by=in_words([vote.name for vote in votes]),
        has_voted=any(vote.user_id == viewer.user.pk for vote in votes),
        must_be_signed=delivery.needs_signature
        or (delivery.irreversible and viewer.signs_irreversible(delivery.team_id)),
        is_whole=bool(getattr(delivery, "is_bare", False)) and is_short(delivery),
    )


@lru_cache(maxsize=10_000)
def _path_to(name: str, pk: UUID) -> str:
    """Works like `reverse`, but caches the paths. People open the same list repeatedly, and with 50
    rows the paths were a tenth of the page's cost."""
    return reverse(name, args=[pk])
