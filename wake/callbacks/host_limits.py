"""Chooses which due callbacks are sent now, within a limit for each host that teams share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from wake.callbacks import circuit_breaker
from wake.models import Callback, FailingTarget
from wake.models.callbacks import Target

PER_HOST = 20
PAGE_SIZE = 100


def choose(
    at: datetime, *, room: int, busy: Mapping[Target, int], further: bool = True
) -> list[Callback]:
    """Locks and returns up to `room` due rows; `busy` counts the callbacks that are being sent.

    First it takes one callback for each target that has none, then the oldest. So many callbacks of
    one team do not keep another team from a host that they share. It reads only ids and hosts at
    first, because with a long queue most callbacks have to wait. If `further` is False, it reads
    only the oldest rows and does not search behind them for other hosts: with a long queue for one
    host, that search reads the whole queue.
    """
    choice = _Choice(at, room, busy)
    passed_over = choice.look(most=1, further=further)
    choice.take(passed_over, most=PER_HOST)
    if choice.left_some_out:
        choice.look(most=PER_HOST, further=further)
    if not choice.chosen:
        return []
    callbacks = Callback.objects.filter(pk__in=choice.chosen).select_related("response")
    return list(callbacks.order_by("due_at").defer("response__feedback", "response__edited_json"))


class _Row(NamedTuple):
    """A due callback, as far as it is read before it is chosen."""

    pk: UUID
    target: Target
    is_asked_for: bool


class _Choice:
    """Collects the chosen callbacks, and counts what each target and host has with them."""

    def __init__(self, at: datetime, room: int, busy: Mapping[Target, int]) -> None:
        self.at = at
        self.room = room
        self.chosen: list[UUID] = []
        # These two include the callbacks that are being sent.
        self.by_target = Counter(busy)
        self.by_host: Counter[str] = Counter()
        for target, count in busy.items():
            self.by_host[target.host] += count
        self.failing: dict[Target, FailingTarget] = {}
        self.has_left_out_targets = bool(busy)

    @property
    def left_some_out(self) -> bool:
        """Returns whether a target that may get more has due rows that were not read."""
        return self.has_left_out_targets and not all(
            self._is_full(target, most=PER_HOST) for target in self.by_target
        )

    def look(self, *, most: int, further: bool) -> list[_Row]:
        """Reads and takes rows of targets that have fewer than `most`, oldest first. Returns the
        rows that it passed over because their target had `most` by then."""
        passed_over: list[_Row] = []
        while (wanted := min(self.room - len(self.chosen), PAGE_SIZE)) > 0:
            page = self._page(wanted, most)
            passed_over += self.take(page, most=most)
            if len(page) < wanted:
                break
            self.has_left_out_targets = True
            if not further:
                break
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
        circuit_breaker.hold_back(held_back)
        return passed_over

    def _page(self, wanted: int, most: int) -> list[_Row]:
        full_hosts = [host for host, count in self.by_host.items() if count >= PER_HOST]
        full_targets = [target for target in self.by_target if self._is_full(target, most=most)]
        due = Callback.objects.due(self.at).to_others(full_hosts, full_targets)
        due = due.exclude(pk__in=self.chosen).select_for_update(skip_locked=True)
        columns = due.values_list("pk", "team_id", "host", "response_id", "asked_by_name")
        page = [
            _Row(pk, Target(team_id, host, without_answers=response_id is None), bool(asked_by))
            for pk, team_id, host, response_id, asked_by in columns[:wanted]
        ]
        if page:
            targets = {row.target for row in page}
            found = circuit_breaker.failing(target.host for target in targets)
            unchanged = {key: row for key, row in self.failing.items() if key not in targets}
            self.failing = unchanged | found
        return page

    def _is_full(self, target: Target, *, most: int) -> bool:
        limit = circuit_breaker.host_limit(self.failing.get(target), most=most)
        return self.by_target[target] >= limit or self.by_host[target.host] >= PER_HOST
