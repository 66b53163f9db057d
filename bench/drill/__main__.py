"""Runs `make drill`: fills a database of its own with ten million deliveries, and prints what they
cost (Linux, PostgreSQL at DATABASE_URL or 127.0.0.1, and its programs pg_dump and pg_restore)."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.drill import measures
from bench.drill.measures import Database
from bench.tools import servers
from bench.tools.results import Row, print_table

NAME = "wake_drill"
DELIVERIES, FEW = 10_000_000, 10_000


@dataclass(frozen=True, slots=True)
class Effort:
    """Says how often requests are sent."""

    pages: int = 200
    deliveries: int = 400
    rounds: int = 9


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.drill", description=__doc__)
    parser.add_argument(
        "deliveries",
        type=int,
        nargs="?",
        default=DELIVERIES,
        help=f"{DELIVERIES:,} by default, for which PostgreSQL needs about 40 GB and the copy 6 GB",
    )
    parser.add_argument("--keep", action="store_true", help=f"leave the database {NAME}")
    arguments = parser.parse_args()
    for rows in run(arguments.deliveries, keep=arguments.keep):
        print_table(rows)


def run(
    deliveries: int,
    *,
    few: int = FEW,
    effort: Effort = Effort(),
    keep: bool = False,
    name: str = NAME,
    template: str = "template1",
) -> Iterator[list[Row]]:
    """Yields the rows of each step when it is done. `template` is the database that the new ones
    are copied from, which may have Wake's tables already."""
    large, small = Database(name, deliveries), Database(f"{name}_small", few)
    try:
        servers.create_database(large.name, template=template)
        servers.manage("migrate", "-v0", settings=large.settings)
        servers.create_database(small.name, template=large.name)
        measures.fill(small)
        yield measures.fill(large)
        yield measures.verifying(large)
        for database in (large, small):
            servers.vacuum(database.url)
        yield measures.disk(large)
        yield measures.list_page(large, small, requests=effort.pages)
        yield measures.delivering(large, small, requests=effort.deliveries, rounds=effort.rounds)
        servers.drop_database(small.name)
        yield measures.erasing(large)
        with tempfile.TemporaryDirectory() as folder:
            yield measures.restoring(large, Path(folder))
    finally:
        servers.drop_database(small.name)
        if not keep:
            servers.drop_database(large.name)


if __name__ == "__main__":
    main()
