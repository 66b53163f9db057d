"""`manage.py time_pages` measures the pages on data from `manage.py fill`."""

from __future__ import annotations

import statistics
import time
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.test import Client  # noqa: TID251 (only reads)
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Team, User
from database.batched_queries import Cursor
from database.clock import database_now
from wake.models import Delivery

TIMES = 15


class Command(BaseCommand):
    help = (
        "Measures each page through Django's test client, after one request that warms the caches. "
        "The time covers the whole request, with its template."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--team", metavar="SLUG", default="fill", help="the team that `fill` created"
        )
        parser.add_argument("--only", default="", help="only pages whose name contains this")
        parser.add_argument(
            "--plans", action="store_true", help="print the plan of each page's slowest query"
        )

    def handle(self, *args: Any, team: str, only: str, plans: bool, **options: Any) -> None:
        filled = Team.objects.filter(slug=team).first()
        if filled is None or not Delivery.objects.for_team(filled).exists():
            raise CommandError(f"There is no data. Run: manage.py fill --team {team}")
        browser = _browser(filled)
        self.stdout.write(f"{'page':40}{'best ms':>10}{'median ms':>10}{'queries':>9}")
        for name, path in _pages(filled).items():
            if only in name:
                self._time(browser, name, path, plans=plans)

    def _time(self, browser: Client, name: str, path: str, *, plans: bool) -> None:
        with CaptureQueriesContext(connection) as captured:
            answer = browser.get(path)
        queries = captured.captured_queries  # the next request clears the list
        if answer.status_code != 200:
            raise CommandError(f"{path} answered {answer.status_code}.")
        times = [_milliseconds(browser, path) for _ in range(TIMES)]
        figures = f"{min(times):>10.1f}{statistics.median(times):>10.1f}{len(queries):>9}"
        self.stdout.write(f"{name:40}{figures}")
        if plans:
            self.stdout.write(_plan(max(queries, key=lambda query: float(query["time"]))["sql"]))


def _pages(team: Team) -> dict[str, str]:
    """Returns pages of a history that ends now. "telex" was last written more than a year ago."""
    rows = Delivery.objects.for_team(team).filter(mode="live")
    [old] = rows.filter(activity_at__lte=database_now() - timedelta(days=365)).order_by(
        "-activity_at"
    )[:1]
    [question] = rows.filter(type="question").answered().order_by("-activity_at")[:1]
    before = Cursor((old.activity_at, old.pk))
    return {
        "inbox": "/",
        "inbox, a word": "/?q=report",
        "inbox, an agent": f"/?agent={team.slug}-agent-020",
        "delivery": f"/deliveries/{question.pk}/",
        "history": "/history/",
        "history, a year back": f"/history/?before={before}",
        "history, rejected": "/history/?status=rejected",
        "history, expired": "/history/?status=expired",
        "history, acknowledged": "/history/?status=acknowledged",
        "history, is:late": "/history/?q=is:late",
        "history, an agent": f"/history/?agent={team.slug}-agent-020",
        "history, an agent that retired": f"/history/?agent={team.slug}-agent-001",
        "history, agents with a prefix": f"/history/?agent={team.slug}-agent",
        "history, a person": "/history/?by=mira",
        "history, a person who left": "/history/?by=sam",
        "a frequent word": "/history/?q=report",
        "a frequent word, a year back": f"/history/?q=report&before={before}",
        "a word from long ago": "/history/?q=telex",
        "a word in one delivery": f"/history/?q={_reference(old)}",
        "a word that never occurs": "/history/?q=unheard",
        "a prefix of many words": "/history/?q=re*+con",
        "two words": "/history/?q=pricing+audit",
        "two rare words": "/history/?q=telex+gazette",
        "exact words": "/history/?q=%22the+market+report%22",
        "a word without another": "/history/?q=report+-pricing",
        "a word and a person": "/history/?q=report&by=mira",
        "a word and a person who left": "/history/?q=report&by=sam",
        "a word and an agent": f"/history/?q=report&agent={team.slug}-agent-020",
        "a word and an agent that retired": f"/history/?q=report&agent={team.slug}-agent-001",
        "a word and an outcome": "/history/?q=report&status=rejected",
        "a word of one month": "/history/?q=report&from=2026-03-01&to=2026-03-31",
    }


def _reference(delivery: Delivery) -> str:
    """Returns a word that only one delivery with details contains."""
    rows = Delivery.objects.filter(agent=delivery.agent, details_json__contains="ref-")
    words = rows.order_by("activity_at")[0].details_json or ""
    return "ref-" + words.partition("ref-")[2].partition('"')[0].partition("\\")[0]


def _browser(team: Team) -> Client:
    user, _ = User.objects.get_or_create(email=f"pages@{team.slug}.example.com")
    Membership.objects.get_or_create(team=team, user=user, role=Membership.Role.OWNER)
    client = Client(headers={"host": settings.ALLOWED_HOSTS[0]})
    client.force_login(user)
    return client


def _milliseconds(browser: Client, path: str) -> float:
    began = time.perf_counter()
    browser.get(path)
    return (time.perf_counter() - began) * 1000


def _plan(sql: str) -> str:
    options = "(ANALYZE, BUFFERS)" if connection.vendor == "postgresql" else "QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {options} {sql}")
        return "\n".join(f"    {row[-1][:160]}" for row in cursor.fetchall())
