"""Runs one step of the drill in a process with Django, and prints its figures as JSON: `python -m
bench.drill.inside fill DELIVERIES PORT` or `python -m bench.drill.inside erase`."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from math import inf

import django

django.setup()

from accounts.log import sweep
from accounts.models import Team
from bench.drill import copies, seeds
from bench.scenes.full_rules import owner
from database.clock import database_now
from wake import retention
from wake.models import Delivery

MAX_SEEDS = 1_000
SPAN = timedelta(days=730)
MONTH = timedelta(days=30)
ERASE_SECONDS = 600.0


def fill(deliveries: int, port: int) -> dict[str, float]:
    """Makes so many deliveries of two years. Returns the seconds of each part. Raises SystemExit if
    the rows are not what the server would have written."""
    count = min(MAX_SEEDS, deliveries // 10)
    number = deliveries // count
    step, at = SPAN / number, database_now()
    since = at - SPAN - MONTH
    took = {
        "seeds": _seconds(
            lambda: seeds.make(count, port=port, within=step, since=since, at=at),
        )
    }
    began = time.perf_counter()
    with copies.indexes_built_last():
        took["copies"] = _seconds(lambda: copies.multiply(number - 1, seeds=count, step=step))
    took["indexes"] = time.perf_counter() - began - took["copies"]
    took["log"] = _seconds(lambda: sweep.append_new(at=database_now(), seconds=inf))
    if problems := copies.problems():
        raise SystemExit("\n".join(problems))
    return took


def erase() -> dict[str, float]:
    """Lets the team keep content for a month less than the two years, and erases that month by the
    job of the worker, or as much of it as fits into ten minutes."""
    team, at = Team.objects.get(slug=seeds.TEAM), database_now()
    days = (SPAN - MONTH).days
    retention.keep_content(team, days=days, by=owner(team, 0), at=at)
    old = Delivery.objects.for_team(team).with_content().done_before(at - timedelta(days=days))
    with copies.patient():
        count = old.count()
    began = time.perf_counter()
    erased = retention.erase_old(at=at, seconds=ERASE_SECONDS)
    return {"seconds": time.perf_counter() - began, "old": count, "erased": erased}


def _seconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


if __name__ == "__main__":
    step, *numbers = sys.argv[1:]
    figures = fill(*map(int, numbers)) if step == "fill" else erase()
    print(json.dumps(figures))  # noqa: T201 - read by bench/drill/measures.py
