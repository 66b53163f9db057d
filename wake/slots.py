"""Chooses which due callbacks leave now: a host has so many slots, and teams share them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from wake import breakers
from wake.models import Callback, FailingTarget
from wake.models.callbacks import Target

PER_HOST = 20
LOOK_AT_ONCE = 50


def choose(at: datetime, *, room: int, busy: Mapping[Target, int]) -> list[Callback]:
    """Up to `room` due rows, locked; `busy` counts what is on its way already. First one for each
    target that has nothing on its way, then the oldest, so that a crowd of one team keeps no other
    from a host that they share. Looks at ids and hosts first, since most of a crowd has to wait."""
    chosen: list[UUID] = []
    on_the_way = Counter(busy)
    of_host: Counter[str] = Counter()
    for target, used in busy.items():
        of_host[target.host] += used
    full = {host for host, used in of_host.items() if used >= PER_HOST}
    for most in (1, PER_HOST):
        spent = {target for target, used in on_the_way.items() if used >= most}
        while (wanted := min(room - len(chosen), LOOK_AT_ONCE)) > 0:
            due = Callback.objects.due(at).to_others(full, spent).exclude(pk__in=chosen)
            found = due.values_list("pk", "team_id", "host", "relayed_task", "asked_by_name")
            page = list(found.select_for_update(skip_locked=True)[:wanted])
            failing = breakers.failing(host for _, _, host, _, _ in page)
            held: defaultdict[FailingTarget, list[UUID]] = defaultdict(list)
            for pk, team_id, host, task_id, asked_by in page:
                target = Target(team_id, host, is_push=task_id is not None)
                trouble = failing.get(target)
                if trouble and trouble.holds_back(at) and not asked_by:
                    held[trouble].append(pk)
                elif of_host[host] >= PER_HOST:
                    full.add(host)
                elif on_the_way[target] >= breakers.slots(trouble, most=most):
                    spent.add(target)
                else:
                    on_the_way[target] += 1
                    of_host[host] += 1
                    chosen.append(pk)
            breakers.hold_back(held)
            if len(page) < wanted:
                break
    rows = Callback.objects.filter(pk__in=chosen).select_related("response").order_by("due_at")
    return list(rows.defer("response__feedback", "response__edited_json"))
