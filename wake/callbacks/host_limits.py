"""Chooses which due callbacks are sent now, within a limit for each host that teams share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from wake.callbacks import circuit_breaker
from wake.models import Callback, FailingTarget
from wake.models.callbacks import Target

PER_HOST = 20
PAGE_SIZE = 50


def choose(at: datetime, *, room: int, busy: Mapping[Target, int]) -> list[Callback]:
    """Locks and returns up to `room` due rows; `busy` counts the callbacks that are being sent.

    First it takes one callback for each target that has none, then the oldest. So many callbacks of
    one team do not keep another team from a host that they share. It reads only ids and hosts at
    first, because with a long queue most callbacks have to wait.
    """
    chosen: list[UUID] = []
    by_target = Counter(busy)
    by_host: Counter[str] = Counter()
    for target, count in busy.items():
        by_host[target.host] += count
    full_hosts = {host for host, count in by_host.items() if count >= PER_HOST}
    for most in (1, PER_HOST):
        full_targets = {target for target, count in by_target.items() if count >= most}
        while (wanted := min(room - len(chosen), PAGE_SIZE)) > 0:
            due = Callback.objects.due(at).to_others(full_hosts, full_targets)
            due = due.exclude(pk__in=chosen)
            rows = due.values_list("pk", "team_id", "host", "response_id", "asked_by_name")
            page = list(rows.select_for_update(skip_locked=True)[:wanted])
            failing = circuit_breaker.failing(host for _, _, host, _, _ in page)
            held_back: defaultdict[FailingTarget, list[UUID]] = defaultdict(list)
            for pk, team_id, host, response_id, asked_by in page:
                target = Target(team_id, host, without_answers=response_id is None)
                failure = failing.get(target)
                if failure and failure.holds_back(at) and not asked_by:
                    held_back[failure].append(pk)
                elif by_host[host] >= PER_HOST:
                    full_hosts.add(host)
                elif by_target[target] >= circuit_breaker.host_limit(failure, most=most):
                    full_targets.add(target)
                else:
                    by_target[target] += 1
                    by_host[host] += 1
                    chosen.append(pk)
            circuit_breaker.hold_back(held_back)
            if len(page) < wanted:
                break
    callbacks = Callback.objects.filter(pk__in=chosen).select_related("response")
    return list(callbacks.order_by("due_at").defer("response__feedback", "response__edited_json"))
