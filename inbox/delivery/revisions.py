"""What came before a delivery: its thread, the one that it replaces, what changed since then, and
whether that is what a person asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from inbox.changes import BUDGET_SECONDS, Changes, changes
from inbox.edits import Original, as_typed
from inbox.slices import first_of_each
from wake.models import Delivery, DeliveryQuerySet, Response

MOST_EARLIER = 10
COMPARED_AT_ONCE = 40_000
EACH_SECONDS = BUDGET_SECONDS / 3  # there are up to three comparisons on a page
SHOWN = ("team", "headline", "type", "status", "answered_at", "created_at", "supersedes")


@dataclass(frozen=True, slots=True)
class Thread:
    """`newer` has taken its place; `earlier` are the newest first."""

    newer: Delivery | None = None
    earlier: list[Delivery] = field(default_factory=list)
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """`edit` is what a person made of the earlier one, `came_back` what the agent did, and `apart`
    where the two differ. None of them is there where they are too long to be compared unasked, and
    no `apart` where one of the two asks with blocks and the other does not."""

    earlier: Delivery
    response: Response | None
    came_back: Changes | None
    edit: Changes | None = None
    apart: Changes | None = None

    @property
    def is_as_edited(self) -> bool:
        return self.apart is not None and not self.apart


def thread_of(delivery: Delivery) -> Thread:
    """No query where it stands alone, else one."""
    lists = list(_lists(delivery))
    if not lists:
        return Thread()
    found = {row.pk: row for row in first_of_each(lists, count=MOST_EARLIER + 1)}
    newer = [row for row in found.values() if row.supersedes_id == delivery.pk]
    earlier = [row for row in found.values() if row.created_at < delivery.created_at]
    earlier.sort(key=lambda row: row.created_at, reverse=True)
    return Thread(newer[0] if newer else None, earlier[:MOST_EARLIER], len(earlier) > MOST_EARLIER)


def revision_of(delivery: Delivery, *, is_asked_for: bool) -> Revision | None:
    """Of the delivery that this one replaces, which is loaded with its answer."""
    earlier = delivery.supersedes
    if earlier is None or earlier.team_id != delivery.team_id or earlier.erased_at is not None:
        return None
    response: Response | None = getattr(earlier, "response", None)
    edited = response.edited_json if response else None
    sent = [earlier.details_json or "", delivery.details_json or "", edited or ""]
    if sum(map(len, sent)) > COMPARED_AT_ONCE and not is_asked_for:
        return Revision(earlier, response, came_back=None)
    before, after = Original.of(earlier), Original.of(delivery)
    is_alike = before.is_proposal == after.is_proposal
    came_back = _compared(*_versions(earlier, delivery, before, after))
    if edited is None:
        return Revision(earlier, response, came_back)
    return Revision(
        earlier,
        response,
        came_back,
        edit=_compared(before.json, edited),
        apart=_compared(edited, after.json) if is_alike else None,
    )


def _versions(
    earlier: Delivery, delivery: Delivery, before: Original, after: Original
) -> tuple[str | None, str | None]:
    """All that was sent; of tasks what they propose, without the conversation around it."""
    if delivery.relayed and before.is_proposal and after.is_proposal:
        return before.json, after.json
    return earlier.details_json, delivery.details_json


def _compared(before: str | None, after: str | None) -> Changes:
    return changes(as_typed(before), as_typed(after), budget=EACH_SECONDS)


def _lists(delivery: Delivery) -> Iterator[DeliveryQuerySet]:
    """Index: thread_of_an_agent. The first of a thread without a name is the one that gave it its
    id."""
    theirs = Delivery.objects.for_team(delivery.team_id).of_agent(delivery.agent_id, delivery.lane)
    rows = theirs.only(*SHOWN).order_by("-created_at")
    if delivery.superseded_at is not None:
        yield rows.filter(supersedes=delivery)
    if delivery.thread:
        yield rows.filter(thread=delivery.thread, created_at__lt=delivery.created_at)
    if (first := _uuid(delivery.thread)) or (first := delivery.supersedes_id):
        yield rows.filter(pk__in={first, delivery.supersedes_id or first})


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
