"""What an agent gets when it asks for answers; what was handed out is stamped first, so it can
never be taken back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.db import transaction
from django.db.models import Field, Model

from accounts import keys
from accounts.audit import SYSTEM, record_many
from accounts.models import ApiKey
from accounts.prepared import Prepared, Slot
from wake import wire
from wake.models import Delivery, DeliveryQuerySet, Response
from wake.models.content import opened, stored
from wake.responses import release_due

# What an answer on the wire is made of; tuples, because an agent's poll and sweep are the hottest
# reads there are. Words come as they are stored: converters would cost every row, encrypted or not.
COLUMNS = (
    "id",
    "expires_at",
    "status",
    "activity_at",
    "erased_at",
    "response__id",
    stored("response__feedback"),
    stored("response__edited_json"),
    "response__answered_at",
    "response__release_at",
    "response__responded_at",
    "response__picked_up_at",
)
COUNT_AT_MOST = 10_000
POLL, SWEEP = Response.Route.POLL, Response.Route.SWEEP


class Row(NamedTuple):
    """One delivery and its answer, in the order of COLUMNS."""

    id: UUID
    expires_at: datetime | None
    status: str
    activity_at: datetime
    erased_at: datetime | None
    response_id: UUID | None
    feedback: str | None
    edited_json: str | None
    answered_at: datetime | None
    release_at: datetime | None
    responded_at: datetime | None
    picked_up_at: datetime | None

    @classmethod
    def read(cls, columns: tuple[Any, ...]) -> Row:
        """With its words decrypted: what cannot be read must not be stamped as picked up. Raises
        encryption.Unreadable."""
        row = cls._make(columns)
        feedback, edited_json = opened(row.feedback), opened(row.edited_json)
        if feedback is row.feedback and edited_json is row.edited_json:
            return row
        return row._replace(feedback=feedback, edited_json=edited_json)

    def is_due(self, at: datetime) -> bool:
        return self.release_at is not None and self.responded_at is None and self.release_at <= at

    @property
    def is_fresh(self) -> bool:
        """Released and never handed out."""
        return self.responded_at is not None and self.picked_up_at is None

    def answer(self, at: datetime) -> wire.Answer:
        """A held answer is still `pending`, and none of its words leave."""
        is_erased = self.erased_at is not None
        if self.responded_at is None:
            return wire.answer(
                delivery_id=self.id, expires_at=self.expires_at, is_erased=is_erased, at=at
            )
        return wire.answer(
            delivery_id=self.id,
            expires_at=self.expires_at,
            status=self.status,
            feedback=self.feedback or "",
            edited_json=self.edited_json,
            answered_at=self.answered_at,
            responded_at=self.responded_at,
            is_erased=is_erased,
            at=at,
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """Which conditions a sweep has, without their values: one compiled query each."""

    statuses: tuple[str, ...]
    has_since: bool
    has_agent_id: bool


@dataclass(frozen=True, slots=True)
class SweepQuery:
    """What a bulk read asks for; `since_text` is the caller's own spelling of `since`."""

    limit: int = 50
    since: datetime | None = None
    since_text: str | None = None
    statuses: tuple[str, ...] = ()
    agent_id: str | None = None

    @property
    def shape(self) -> Shape:
        return Shape(
            statuses=tuple(sorted(set(self.statuses))),
            has_since=self.since is not None,
            has_agent_id=self.agent_id is not None,
        )


def read(key: ApiKey, delivery_id: UUID, *, at: datetime) -> wire.Answer | None:
    """The answer of one delivery of this agent and lane, released first where its hold is over;
    else None. Raises KeyEnded."""
    row = _find(key, delivery_id)
    if row and row.is_due(at):
        release_due(at=at, agent_id=key.agent_id)
        row = _find(key, delivery_id)
    while row and row.is_fresh and not mark_picked_up([row], key=key, route=POLL, at=at):
        row = _find(key, delivery_id)
    return row.answer(at) if row else None


def sweep(key: ApiKey, query: SweepQuery, *, at: datetime) -> wire.Sweep:
    """This agent's deliveries after `since` in commit order (PROTOCOL.md, Time, order, cursor).
    Raises KeyEnded."""
    values = {
        "agent": key.agent_id,
        "lane": key.lane,
        "since": query.since,
        "claimed": query.agent_id,
        "at": at,
    }
    if _due_answers().rows(**values):
        release_due(at=at, agent_id=key.agent_id)
    page_of, count_of = _page(query.shape, query.limit), _count(query.shape)
    while True:
        page = [Row.read(columns) for columns in page_of.rows(**values)]
        more, page = len(page) > query.limit, page[: query.limit]
        fresh = [row for row in page if row.is_fresh]
        if not fresh or mark_picked_up(fresh, key=key, route=SWEEP, at=at) == len(fresh):
            break
    return wire.Sweep(
        deliveries=[row.answer(at) for row in page],
        # What was taken back since the page was read is still counted: there was more.
        total=max(count_of.count(**values), len(page) + 1) if more else len(page),
        has_more=more,
        next_since=wire.instant(page[-1].activity_at) if page else query.since_text,
    )


@transaction.atomic
def mark_picked_up(rows: list[Row], *, key: ApiKey, route: str, at: datetime) -> int:
    """Stamps released answers that are about to be handed out. Fewer than asked means that some
    were taken back, or handed out by another request, in this very moment: the caller reads
    again. Raises KeyEnded, and nothing is stamped: the answer waits for the next key."""
    keys.check_again(key, at=at)
    fresh = (
        Response.objects.select_for_update(of=("self",))
        .select_related("delivery")
        .filter(pk__in=[row.response_id for row in rows])
        .filter(responded_at__isnull=False, picked_up_at__isnull=True)
        .order_by("pk")
    )
    responses = list(fresh.defer("delivery__details_json"))
    for response in responses:
        response.sent_at = response.sent_at or at
        response.picked_up_at = at
        response.picked_up_by = route
    Response.objects.bulk_update(responses, ["sent_at", "picked_up_at", "picked_up_by"])
    deliveries = [response.delivery for response in responses]
    record_many("response.picked_up", by=SYSTEM, of=deliveries, at=at, route=route, key=key.hint)
    return len(responses)


@transaction.atomic
def picked_up_by_machine(delivery_ids: Collection[UUID], *, at: datetime) -> None:
    """Stamps answers to a task's questions as the agent's machine takes the run that they started;
    the first time counts, if it is taken again."""
    fresh = Response.objects.select_for_update(of=("self",)).select_related("delivery")
    fresh = fresh.filter(delivery__in=delivery_ids, picked_up_at__isnull=True).order_by("pk")
    responses = list(fresh.defer("delivery__details_json"))
    route = Response.Route.MACHINE
    for response in responses:
        response.picked_up_at, response.picked_up_by = at, route
    Response.objects.bulk_update(responses, ["picked_up_at", "picked_up_by"])
    deliveries = [response.delivery for response in responses]
    record_many("response.picked_up", by=SYSTEM, of=deliveries, at=at, route=route)


def _find(key: ApiKey, delivery_id: UUID) -> Row | None:
    rows = _one().rows(agent=key.agent_id, lane=key.lane, pk=delivery_id)
    return Row.read(rows[0]) if rows else None


def _slot(name: str, model: type[Model], field: str) -> Any:
    return Slot(name, cast("Field[Any, Any]", model._meta.get_field(field)))


def _of_key() -> DeliveryQuerySet:
    mine = Delivery.objects.of_agent(
        _slot("agent", Delivery, "agent"), _slot("lane", Delivery, "lane")
    )
    return mine.filter(relayed=False)


@cache
def _one() -> Prepared:
    return Prepared(lambda: _of_key().filter(pk=_slot("pk", Delivery, "id")).values_list(*COLUMNS))


@cache
def _due_answers() -> Prepared:
    held = Response.objects.due(_slot("at", Response, "release_at"))
    mine = held.filter(delivery__agent_id=_slot("agent", Delivery, "agent"))
    return Prepared(lambda: mine.values_list("pk")[:1])


@lru_cache(maxsize=1024)
def _page(shape: Shape, limit: int) -> Prepared:
    return Prepared(lambda: _matching(shape).values_list(*COLUMNS)[: limit + 1])


@lru_cache(maxsize=64)
def _count(shape: Shape) -> Prepared:
    counted = _matching(shape).order_by().values_list("pk")[:COUNT_AT_MOST]
    return Prepared(lambda: counted)


def _matching(shape: Shape) -> DeliveryQuerySet:
    matching = _of_key()
    if shape.statuses:
        matching = matching.with_statuses(shape.statuses)
    if shape.has_agent_id:
        matching = matching.filter(claimed_agent_id=_slot("claimed", Delivery, "claimed_agent_id"))
    return matching.after(_slot("since", Delivery, "activity_at") if shape.has_since else None)
