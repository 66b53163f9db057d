"""Chooses the deliveries of an evidence export: those that one agent sent on certain days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Prefetch, prefetch_related_objects

from accounts.models import Agent, ApiKey
from wake.models import Attachment, Delivery

AT_ONCE = 20  # details have up to 200 kB each
MAX_ON_PAGE = 5_000
MAX_OF_COMMAND = 100_000


class TooManyDeliveries(Exception):
    """The days have more deliveries than one export can hold. Choose fewer days."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"These days have more than {limit:,} deliveries. Choose fewer days, and make several "
            "exports."
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """Names the agent, loaded with its team, and the first and the last day. Days are in UTC."""

    agent: Agent
    first_day: date
    last_day: date

    @property
    def since(self) -> datetime:
        return datetime.combine(self.first_day, time.min, UTC)

    @property
    def until(self) -> datetime:
        return datetime.combine(self.last_day + timedelta(days=1), time.min, UTC)


def ids_of(scope: Scope, *, limit: int) -> list[UUID]:
    """Returns the ids of the live deliveries that arrived on these days, oldest first. Raises
    TooManyDeliveries. Index: cursor_of_an_agent, because no activity is before the arrival."""
    rows = Delivery.objects.of_agent(scope.agent, ApiKey.Mode.LIVE).for_team(scope.agent.team_id)
    rows = rows.filter(activity_at__gte=scope.since)
    rows = rows.filter(created_at__gte=scope.since, created_at__lt=scope.until)
    ids = list(rows.order_by("created_at", "pk").values_list("pk", flat=True)[: limit + 1])
    if len(ids) > limit:
        raise TooManyDeliveries(limit)
    return ids


def batches_of(ids: Sequence[UUID]) -> Iterator[tuple[list[Delivery], list[UUID]]]:
    """Yields a few deliveries at a time, in this order, and the ids of deliveries that do not exist
    any more. Each delivery is loaded with its answer, claim, rules, votes, outcomes and files.
    Makes the same number of queries for each batch."""
    for start in range(0, len(ids), AT_ONCE):
        wanted = ids[start : start + AT_ONCE]
        rows = Delivery.objects.select_related(
            "agent", "response__claim", "response__rule_version__rule"
        )
        rows = rows.select_related("assignment__rule_version__rule")
        found = rows.in_bulk(wanted)
        batch = [found[pk] for pk in wanted if pk in found]
        files = Attachment.objects.select_related("blob").defer("blob__content").order_by("pk")
        prefetch_related_objects(batch, "votes", "outcomes", Prefetch("attachments", files))
        yield batch, [pk for pk in wanted if pk not in found]
