"""Runs `make bench`: a table with PASS or SHORT for each row (Linux, PostgreSQL at DATABASE_URL or
127.0.0.1)."""

from __future__ import annotations

import argparse

from bench import callbacks, hot_paths, pages
from bench.results import print_table


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="take only about a minute")
    parser.add_argument(
        "--deliveries",
        type=int,
        default=10_000,
        help="earlier deliveries of each agent (10000)",
    )
    arguments = parser.parse_args()
    requests, rounds = (400, 3) if arguments.short else (4_000, 7)
    rows = hot_paths.measure(requests=requests, rounds=rounds, deliveries=arguments.deliveries)
    print_table(rows)
    requests = 80 if arguments.short else 400
    print_table(pages.measure(requests=requests, rounds=3, deliveries=arguments.deliveries))
    print_table(callbacks.measure(callbacks=1_000 if arguments.short else 10_000))


if __name__ == "__main__":
    main()
