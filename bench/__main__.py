"""Runs `make bench`: a table with PASS or SHORT for each row (Linux, PostgreSQL at DATABASE_URL or
127.0.0.1)."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from bench import (
    a2a_send,
    assignment,
    bursts,
    callbacks,
    capacity,
    claims,
    frozen_redis,
    growth,
    hot_paths,
    idle,
    idle_streams,
    log,
    metrics,
    open_connections,
    pages,
)
from bench.tools.results import Row, print_table

DELIVERIES = 10_000  # earlier deliveries of each agent
MANY_DELIVERIES = 1_000_000

# Each part has a thorough measurement, which takes a few minutes, and a quick one of about a
# minute.
PARTS: dict[str, tuple[Callable[[], list[Row]], Callable[[], list[Row]]]] = {
    "hot-paths": (
        lambda: hot_paths.measure(requests=1_500, rounds=7, deliveries=DELIVERIES),
        lambda: hot_paths.measure(requests=1_000, rounds=3, deliveries=DELIVERIES),
    ),
    "pages": (
        lambda: pages.measure(requests=200, rounds=5, deliveries=DELIVERIES),
        lambda: pages.measure(requests=80, rounds=3, deliveries=DELIVERIES),
    ),
    "assignment": (
        lambda: assignment.measure(
            delivers=3_000, page_views=200, rounds=6, deliveries=MANY_DELIVERIES
        ),
        lambda: assignment.measure(delivers=400, page_views=40, rounds=3, deliveries=DELIVERIES),
    ),
    "claims": (
        lambda: claims.measure(requests=400, rounds=7, deliveries=DELIVERIES),
        lambda: claims.measure(requests=200, rounds=3, deliveries=DELIVERIES),
    ),
    "callbacks": (
        lambda: callbacks.measure(callbacks=5_000, turns=3),
        lambda: callbacks.measure(callbacks=1_000, turns=3),
    ),
    "metrics": (
        lambda: metrics.measure(requests=1_500, rounds=7),
        lambda: metrics.measure(requests=1_000, rounds=3),
    ),
    "a2a": (
        lambda: a2a_send.measure(requests=400, rounds=7),
        lambda: a2a_send.measure(requests=200, rounds=3),
    ),
    "bursts": (lambda: bursts.measure(rounds=20), lambda: bursts.measure(rounds=3)),
    "idle": (lambda: idle.measure(seconds=120), lambda: idle.measure(seconds=30)),
    "idle-streams": (
        lambda: idle_streams.measure(seconds=30, ends=50),
        lambda: idle_streams.measure(seconds=15, ends=10),
    ),
    "capacity": (
        lambda: capacity.measure(requests=1_000, rounds=5, deliveries=DELIVERIES),
        lambda: capacity.measure(requests=200, rounds=3, deliveries=DELIVERIES),
    ),
    "open-connections": (
        lambda: open_connections.measure(seconds=60),
        lambda: open_connections.measure(seconds=15),
    ),
    "frozen-redis": (
        lambda: frozen_redis.measure(polls=4_000, rounds=5),
        lambda: frozen_redis.measure(polls=800, rounds=3),
    ),
    "log": (lambda: log.measure(entries=MANY_DELIVERIES), lambda: log.measure(entries=50_000)),
    "growth": (
        lambda: growth.measure(requests=1_000, rounds=5),
        lambda: growth.measure(requests=400, rounds=3),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="take only about a minute a part")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - PARTS.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    usual = PARTS.keys() - {"growth"} if arguments.short else PARTS.keys()  # growth takes minutes
    for name in arguments.parts or [name for name in PARTS if name in usual]:
        in_full, in_short = PARTS[name]
        print_table(in_short() if arguments.short else in_full())


if __name__ == "__main__":
    main()
