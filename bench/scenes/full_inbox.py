"""Fills a person's inbox, and prints the cookies of their browser and the id of a delivery
(bench/pages.py): `python -m bench.scenes.full_inbox TEAM ROWS`."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import json
import sys
from datetime import timedelta
from itertools import cycle

import django

django.setup()

from django.conf import settings
from django.test import Client  # noqa: TID251 (only reads)

from accounts.models import Agent, Team
from bench.scenes.full_rules import owner
from database.clock import database_now
from wake.deliveries import deliver
from wake.models import Delivery

DETAILS = {
    "report": "# Market report\n\nThe *ten largest* competitors, see [the data](https://example.com):"
    "\n\n- prices rose\n- two new entrants\n\n```python\nprint(sum(prices))\n```\n",
    "sources": [{"name": "Register", "rows": 3200}, {"name": "Survey", "rows": 180}],
}
A_SECOND = timedelta(seconds=1)
TOKEN = "a" * 32  # a token for forms, as a browser has after its first page


def main(slug: str, rows: int) -> None:
    team = Team.objects.get(slug=slug)
    agents = list(Agent.objects.filter(team=team).order_by("created_at"))
    person = owner(team, 0)
    begin = database_now() - rows * A_SECOND
    for number, type in zip(range(rows), cycle(Delivery.Type.values), strict=False):
        agent = agents[number % len(agents)]
        delivery = deliver(
            agent,
            agent_id=agent.agent_id,
            provider="claude",
            type=type,
            headline=f"Market report {number} is ready for your review",
            summary="Analysed the ten largest competitors in the space.",
            details_json=json.dumps(DETAILS),
            timeout_seconds=86_400 if number % 3 else None,
            at=begin + number * A_SECOND,
        ).delivery
    browser = Client()
    browser.force_login(person)
    session = browser.cookies[settings.SESSION_COOKIE_NAME].value
    cookie = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
    print(json.dumps({"cookie": cookie, "delivery": str(delivery.pk)}))  # noqa: T201 - for the bench


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
