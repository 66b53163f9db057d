"""`manage.py fill` generates two years of a busy team, for measurements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, transaction

from accounts.models import Agent, Membership, Team, User
from database.clock import database_now
from inbox.management import bulk
from inbox.management.synthetic_team import SPAN, SyntheticRows, SyntheticTeam
from inbox.models import IndexedUntil
from inbox.search import vocabulary
from wake.models import Delivery

AT_ONCE = 10_000
PEOPLE = ["Sam", "Mira", "Ines", "Tomas", "Wei", "Noor"]


class Command(BaseCommand):
    help = (
        "Generates two years of deliveries of every type for a team, with answers, deadlines and "
        "threads. Use it for measurements, on a database of its own."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--deliveries", type=int, default=100_000)
        parser.add_argument("--agents", type=int, default=100)
        parser.add_argument("--team", metavar="SLUG", default="fill", help="created if it is new")
        parser.add_argument(
            "--seed", type=int, default=1, help="another seed generates other texts"
        )
        parser.add_argument("--force", action="store_true", help="run in production, too")

    def handle(
        self, *args: Any, deliveries: int, agents: int, team: str, seed: int, **options: Any
    ) -> None:
        if settings.PRODUCTION and not options["force"]:
            raise CommandError(
                "This server is in production, and the generated data cannot be removed again. "
                "Use a database of its own, or run: manage.py fill --force"
            )
        _allow_long_statements()
        now = database_now()
        filled, _ = Team.objects.get_or_create(slug=team, defaults={"name": team.capitalize()})
        if Delivery.objects.for_team(filled).exists():
            raise CommandError(f"{filled} already has deliveries. Choose another --team.")
        filled.created_at = now - SPAN
        filled.save(update_fields=["created_at"])
        senders = [
            Agent.objects.create(
                team=filled, agent_id=f"{team}-agent-{number:03}", created_at=filled.created_at
            )
            for number in range(1, agents + 1)
        ]
        team_history = SyntheticTeam(senders, _people(filled), until=now, seed=f"{team} {seed}")
        with _build_word_index_last():
            for number, batch in enumerate(team_history.batches(deliveries, size=AT_ONCE), 1):
                _write(batch)
                self._say(f"{min(number * AT_ONCE, deliveries):,} of {deliveries:,} written")
        Agent.objects.bulk_update(senders, ["activity_us"])
        IndexedUntil.objects.bulk_create(
            IndexedUntil(agent=agent, activity_us=agent.activity_us) for agent in senders
        )
        _analyze()
        self.stdout.write(
            f"{filled} has {deliveries:,} deliveries of {agents} agents. To look at it: "
            f"manage.py add_person YOU@EXAMPLE.COM --team {team} --role owner"
        )

    def _say(self, words: str) -> None:
        self.stderr.style_func = None  # progress is not an error
        self.stderr.write(words, ending="\r" if self.stderr.isatty() else "\n")


def _people(team: Team) -> list[User]:
    """Creates people who cannot sign in. All but the first are members."""
    people = []
    for name in PEOPLE:
        user = User.objects.create_user(f"{name.lower()}@{team.slug}.example.com")
        user.display_name = name
        user.save(update_fields=["display_name"])
        people.append(user)
    Membership.objects.bulk_create(Membership(team=team, user=user) for user in people[1:])
    return people


@transaction.atomic
def _write(batch: SyntheticRows) -> None:
    bulk.write(batch.deliveries)
    bulk.write(batch.responses)
    bulk.write(batch.searchable)
    bulk.write(batch.events)
    vocabulary.learn(word for row in batch.searchable for word in row.words.split())


def _allow_long_statements() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("SET synchronous_commit = off")


@contextmanager
def _build_word_index_last() -> Iterator[None]:
    """Drops the GIN index and builds it after all rows, because that takes a minute instead of
    ten."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef('words_of_deliveries'::regclass)")
        (definition,) = cursor.fetchone()
        cursor.execute("DROP INDEX words_of_deliveries")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET maintenance_work_mem = '256MB'")
            cursor.execute(definition)


def _analyze() -> None:
    """Updates the database's statistics, as autovacuum would within minutes."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
