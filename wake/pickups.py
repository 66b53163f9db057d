"""Returns answers to agents that ask for them. An answer is first stamped as picked up, so that it
cannot be taken back afterwards."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from accounts.agents import keys
from accounts.models import ApiKey
from database.compiled_queries import CompiledQuery, parameter
from database.encrypted_columns import opened, stored
from wake import wire
from wake.assignment.votes import quorums_of
from wake.models import Delivery, DeliveryQuerySet, Response, picking_up
from wake.responses import release_due_of

# The columns of an answer on the wire. Rows are tuples, because polls and sweeps are the most
# frequent reads. Texts are read as they are stored, because converters would take time for every
# row, encrypted or not.
COLUMNS = (
    "id",
    "expires_at",
    "status",
    "activity_at",
    "erased_at",
    "quorum",
    "response__id",
    stored("response__feedback"),
    stored("response__edited_json"),
    "response__answered_at",
    "response__release_at",
    "response__responded_at",
    "response__picked_up_at",
    "response__quorum_json",
    "response__rule_version_id",
    "wants_digest",
    "content_hash",
    stored("nonce"),
    "withdrawn_at",
)
MAX_COUNT = 10_000
POLL, SWEEP = Response.Route.POLL, Response.Route.SWEEP


class PickupRow(NamedTuple):
    """Holds one delivery and its answer, in the order of COLUMNS."""

    id: UUID
    expires_at: datetime | None
    status: str
    activity_at: datetime
    erased_at: datetime | None
    quorum: int | None
    response_id: UUID | None
    feedback: str | None
    edited_json: str | None
    answered_at: datetime | None
    release_at: datetime | None
    responded_at: datetime | None
    picked_up_at: datetime | None
    quorum_json: str | None
    rule_version_id: int | None
    wants_digest: bool
    content_hash: str
    nonce: str
    withdrawn_at: datetime | None

    @classmethod
    def read(cls, columns: tuple[Any, ...]) -> PickupRow:
        """Decrypts the texts first, because an unreadable answer must not be stamped as picked up.
        Raises encryption.Unreadable."""
        row = cls._make(columns)
        feedback, edited_json = opened(row.feedback), opened(row.edited_json)
        if row.wants_digest:
            row = row._replace(nonce=opened(row.nonce) or "")
        if feedback is row.feedback and edited_json is row.edited_json:
            return row
        return row._replace(feedback=feedback, edited_json=edited_json)

    def is_due(self, at: datetime) -> bool:
        return self.release_at is not None and self.responded_at is None and self.release_at <= at

    @property
    def is_fresh(self) -> bool:
        """Returns whether the answer is released and was never picked up."""
        return self.responded_at is not None and self.picked_up_at is None

    def answer(self, at: datetime, quorum: wire.Quorum | None) -> wire.Answer:
        """Returns the answer in its wire form. A held answer is still `pending` and has no
        texts."""
        is_erased = self.erased_at is not None
        if self.responded_at is None:
            return wire.answer(
                delivery_id=self.id,
                expires_at=self.expires_at,
                is_erased=is_erased,
                waits_for=quorum,
                withdrawn_at=self.withdrawn_at,
                at=at,
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
            quorum_json=self.quorum_json,
            is_by_rule=self.rule_version_id is not None,
            digest=self.content_hash if self.wants_digest else None,
            nonce=self.nonce if self.wants_digest else "",
            at=at,
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """Holds the conditions of a sweep without their values. Each shape is one compiled query."""

    statuses: tuple[str, ...]
    has_since: bool
    has_agent_id: bool


@dataclass(frozen=True, slots=True)
class SweepQuery:
    """Holds the parameters of a bulk read. `since_text` is `since` as the caller wrote it."""

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
    """Returns the answer to one delivery of the key's agent and mode, or None if there is no such
    delivery. An answer whose hold is over is released first. Raises KeyEnded, also for a key that
    has ended since this process remembered it."""
    row = _find(key, delivery_id, at=at)
    if row and row.is_due(at):
        release_due_of(key.agent_id, at=at)
        row = _find(key, delivery_id, at=at)
    while row and row.is_fresh and not mark_picked_up([row], key=key, route=POLL, at=at):
        row = _find(key, delivery_id, at=at)
    if row is None:
        keys.check_again(key, at=at)
        return None
    return _answers([row], key=key, at=at)[0]


def picked_up_before(delivery_ids: Collection[UUID], *, at: datetime) -> set[UUID]:
    """Returns the deliveries whose answer was picked up before this instant, by any route."""
    picked_up = Response.objects.filter(delivery__in=delivery_ids, picked_up_at__lt=at)
    return set(picked_up.values_list("delivery_id", flat=True))


def sweep(key: ApiKey, query: SweepQuery, *, at: datetime) -> wire.Sweep:
    """Returns this agent's deliveries after `since` in commit order (docs/protocol.md, Time, order,
    cursor). Raises KeyEnded, also for a key that has ended since this process remembered it."""
    values = {
        "key": key.pk,
        "agent": key.agent_id,
        "mode": key.mode,
        "since": query.since,
        "claimed": query.agent_id,
        "at": at,
    }
    if _due_answers().rows(**values):
        release_due_of(key.agent_id, at=at)
    page_of, count_of = _page(query.shape, query.limit), _count(query.shape)
    while True:
        page = [PickupRow.read(columns) for columns in page_of.rows(**values)]
        more, page = len(page) > query.limit, page[: query.limit]
        fresh = [row for row in page if row.is_fresh]
        if not fresh or mark_picked_up(fresh, key=key, route=SWEEP, at=at) == len(fresh):
            break
    if not page:
        keys.check_again(key, at=at)
    return wire.Sweep(
        deliveries=_answers(page, key=key, at=at),
        # There were more answers when the page was read, even if some were taken back since.
        total=max(count_of.count(**values), len(page) + 1) if more else len(page),
        has_more=more,
        next_since=wire.instant(page[-1].activity_at) if page else query.since_text,
    )


@transaction.atomic
def mark_picked_up(rows: list[PickupRow], *, key: ApiKey, route: str, at: datetime) -> int:
    """Stamps released answers that are about to be returned, and returns how many.

    If the returned number is smaller than the number of `rows`, some answers were taken back or
    picked up by another request at this moment. The caller then reads again. Raises KeyEnded; then
    nothing is stamped and the answers wait for the next key.
    """
    keys.check_again(key, at=at)
    ids = [row.response_id for row in rows if row.response_id]
    return picking_up.mark_picked_up(ids, route=route, at=at, key=key.hint)


@transaction.atomic
def mark_internal_picked_up(delivery_ids: Collection[UUID], *, at: datetime) -> None:
    """Marks the answers to internal deliveries as picked up, when the agent's connector takes the
    work that they started. A later call changes nothing."""
    answers = Response.objects.filter(delivery__in=delivery_ids)
    ids = list(answers.values_list("pk", flat=True))
    picking_up.mark_picked_up(ids, route=Response.Route.CONNECTOR, at=at)


def _answers(rows: list[PickupRow], *, key: ApiKey, at: datetime) -> list[wire.Answer]:
    """Returns the answers of the rows. Makes no query unless a row waits for more than one
    approval."""
    waiting = {row.id: row.quorum for row in rows if row.quorum and row.responded_at is None}
    quorums = {
        pk: wire.Quorum(**quorum.while_waiting)
        for pk, quorum in quorums_of(waiting, team_id=key.agent.team_id).items()
    }
    return [row.answer(at, quorums.get(row.id)) for row in rows]


def _find(key: ApiKey, delivery_id: UUID, *, at: datetime) -> PickupRow | None:
    rows = _one().rows(key=key.pk, at=at, agent=key.agent_id, mode=key.mode, pk=delivery_id)
    return PickupRow.read(rows[0]) if rows else None


def _of_key() -> DeliveryQuerySet:
    """Returns the deliveries of the key's agent and mode, or no rows if the key has ended."""
    mine = Delivery.objects.of_agent(
        parameter("agent", Delivery, "agent"), parameter("mode", Delivery, "mode")
    )
    usable = keys.is_usable_now(
        parameter("key", ApiKey, "id"), parameter("at", ApiKey, "expires_at")
    )
    return mine.filter(usable, is_internal=False)


@cache
def _one() -> CompiledQuery:
    return CompiledQuery(
        lambda: _of_key().filter(pk=parameter("pk", Delivery, "id")).values_list(*COLUMNS)
    )


@cache
def _due_answers() -> CompiledQuery:
    held = Response.objects.due(parameter("at", Response, "release_at"))
    mine = held.filter(delivery__agent_id=parameter("agent", Delivery, "agent"))
    return CompiledQuery(lambda: mine.values_list("pk")[:1])


@lru_cache(maxsize=1024)
def _page(shape: Shape, limit: int) -> CompiledQuery:
    return CompiledQuery(lambda: _matching(shape).values_list(*COLUMNS)[: limit + 1])


@lru_cache(maxsize=64)
def _count(shape: Shape) -> CompiledQuery:
    counted = _matching(shape).order_by().values_list("pk")[:MAX_COUNT]
    return CompiledQuery(lambda: counted)


def _matching(shape: Shape) -> DeliveryQuerySet:
    matching = _of_key()
    if shape.statuses:
        matching = matching.with_statuses(shape.statuses)
    if shape.has_agent_id:
        matching = matching.filter(
            claimed_agent_id=parameter("claimed", Delivery, "claimed_agent_id")
        )
    return matching.after(parameter("since", Delivery, "activity_at") if shape.has_since else None)
