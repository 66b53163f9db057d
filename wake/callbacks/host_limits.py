"""Chooses the due callbacks to send now. Each host has a limit, which all teams share."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from database.compiled_queries import CompiledQuery, list_parameter, parameter
from wake.callbacks import circuit_breaker
from wake.models import Callback, FailingTarget
from wake.models.callbacks import Target

PER_HOST = 20
PAGE_SIZE = 200
ANY_NUMBER = sys.maxsize
# A sender does not need these columns of the rows that it claims.
UNREAD = {"created_at", "leased_until", "delivered_at", "given_up_at", "erased_at"}


def choose(
    at: datetime,
    *,
    room: int,
    busy: Mapping[Target, int],
    ahead: Mapping[str, int],
    further: bool = True,
) -> list[Callback]:
    """Locks and returns up to `room` due rows. `busy` counts the callbacks that are claimed and not
    finished, and `ahead` says how many more than PER_HOST a host may have.

    First it takes one callback for each target for which no callback is being sent, then the oldest
    callbacks. So a team with many callbacks does not keep another team from a host that both teams
    share. This function first reads only ids and hosts, and locks only the chosen rows, because
    most callbacks of a long queue have to wait. If `further` is False, this function reads only the
    oldest rows and does not search behind them for other hosts. If most of a long queue is for one
    host, such a search reads the whole queue.
    """
    if room < 1:
        return []
    choice = _Choice(at, room, busy, ahead)
    if further:
        choice.look_at_all()
    else:
        choice.look_at_oldest()
    if not choice.chosen:
        return []
    callbacks: list[Callback] = _callbacks().objects(ids=choice.chosen, at=at)
    return callbacks


class _Row(NamedTuple):
    """Holds the part of a due callback that is read before it is chosen."""

    pk: UUID
    target: Target
    is_asked_for: bool
    is_failing: bool


class _Choice:
    """Collects the chosen callbacks, and counts the callbacks of each target and host, including
    the chosen ones."""

    def __init__(
        self, at: datetime, room: int, busy: Mapping[Target, int], ahead: Mapping[str, int]
    ) -> None:
        self.at = at
        self.room = room
        self.ahead = ahead
        self.chosen: list[UUID] = []
        # Both counters include the callbacks of `busy`.
        self.by_target = Counter(busy)
        self.by_host: Counter[str] = Counter()
        for target, count in busy.items():
            self.by_host[target.host] += count
        self.failing: dict[Target, FailingTarget] = {}
        self.has_left_out_targets = bool(busy)

    @property
    def left_some_out(self) -> bool:
        """Returns whether a target that may get more callbacks has due rows that were not read."""
        return self.has_left_out_targets and not all(
            self._is_full(target, most=ANY_NUMBER) for target in self.by_target
        )

    def look_at_oldest(self) -> None:
        """Reads one page of rows whose hosts and targets have room, and takes rows from this
        page."""
        page = self._page(min(self.room, PAGE_SIZE), ANY_NUMBER)
        self.take(self.take(page, most=1), most=ANY_NUMBER)

    def look_at_all(self) -> None:
        """Reads until it has taken one row for each target without a row, and then takes the oldest
        rows."""
        self.take(self._look(most=1), most=ANY_NUMBER)
        if self.left_some_out:
            self._look(most=ANY_NUMBER)

    def _look(self, *, most: int) -> list[_Row]:
        """Reads and takes rows of targets that have fewer than `most`, oldest first. Returns the
        rows that it skipped because their target already had `most` rows."""
        passed_over: list[_Row] = []
        while (wanted := min(self.room - len(self.chosen), PAGE_SIZE)) > 0:
            page = self._page(wanted, most)
            passed_over += self.take(page, most=most)
            if len(page) < wanted:
                break
            self.has_left_out_targets = True
        return passed_over

    def take(self, rows: Sequence[_Row], *, most: int) -> list[_Row]:
        """Takes rows while there is room, and returns those of targets that have `most`."""
        passed_over: list[_Row] = []
        held_back: defaultdict[FailingTarget, list[UUID]] = defaultdict(list)
        for row in rows:
            failure = self.failing.get(row.target)
            if failure and failure.holds_back(self.at) and not row.is_asked_for:
                held_back[failure].append(row.pk)
            elif self._is_full(row.target, most=most):
                passed_over.append(row)
            elif len(self.chosen) < self.room:
                self.by_target[row.target] += 1
                self.by_host[row.target.host] += 1
                self.chosen.append(row.pk)
        circuit_breaker.hold_back(held_back, at=self.at)
        return passed_over

    def _page(self, wanted: int, most: int) -> list[_Row]:
        full_hosts = [host for host in self.by_host if self._host_is_full(host)]
        full_targets = [target for target in self.by_target if self._is_full(target, most=most)]
        # Rounded, because each different limit needs a statement of its own.
        limit = -(-wanted // PER_HOST) * PER_HOST
        rows = _due(limit, tuple(target.without_answers for target in full_targets)).rows(
            at=self.at, hosts=full_hosts, chosen=self.chosen, **_values_of(full_targets)
        )
        page = [
            _Row(pk, Target(team_id, host, response_id is None), bool(asked_by), is_failing)
            for pk, team_id, host, response_id, asked_by, is_failing in rows[:wanted]
        ]
        if page:
            targets = {row.target for row in page}
            hosts = {row.target.host for row in page if row.is_failing}
            failing = circuit_breaker.failing(hosts) if hosts else {}
            unchanged = {key: row for key, row in self.failing.items() if key not in targets}
            self.failing = unchanged | failing
        return page

    def _is_full(self, target: Target, *, most: int) -> bool:
        limit = circuit_breaker.host_limit(self.failing.get(target), most=most)
        return self.by_target[target] >= limit or self._host_is_full(target.host)

    def _host_is_full(self, host: str) -> bool:
        return self.by_host[host] >= PER_HOST + self.ahead.get(host, 0)


@lru_cache(maxsize=256)
def _due(limit: int, full_targets: tuple[bool, ...]) -> CompiledQuery:
    """Returns the query for due callbacks to other hosts and targets. `full_targets` says for each
    target whether its callbacks have no answers in them."""
    targets = [
        Target(
            parameter(f"team{number}", Callback, "team"),
            parameter(f"host{number}", Callback, "host"),
            without_answers,
        )
        for number, without_answers in enumerate(full_targets)
    ]
    due = Callback.objects.due(parameter("at", Callback, "due_at"))
    due = due.to_others(list_parameter("hosts", Callback, "host"), targets)
    due = due.exclude(pk__one_of=list_parameter("chosen", Callback, "id"))
    columns = ("pk", "team_id", "host", "response_id", "asked_by_name", "is_failing")
    rows = due.with_failing_hosts().values_list(*columns)
    return CompiledQuery(lambda: rows[:limit])


def _values_of(targets: Sequence[Target]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for number, target in enumerate(targets):
        values |= {f"team{number}": target.team_id, f"host{number}": target.host}
    return values


@cache
def _callbacks() -> CompiledQuery:
    """Returns the query that locks those callbacks, by their ids, that are still due, oldest first.
    The query reads the columns that sending and settling need. For a callback with an answer, it
    also reads the delivery's id, which is sent."""
    due = Callback.objects.due(parameter("at", Callback, "due_at"))
    chosen = due.filter(pk__one_of=list_parameter("ids", Callback, "id"))
    locked = chosen.select_related("response").select_for_update(of=("self",), skip_locked=True)
    columns = [each.name for each in Callback._meta.concrete_fields if each.name not in UNREAD]
    return CompiledQuery(lambda: locked.only(*columns, "response__delivery"))
