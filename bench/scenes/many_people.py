"""Adds people to a team, and prints the cookie of a browser of each (bench/open_connections.py):
`python -m bench.scenes.many_people TEAM COUNT`."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import json
import sys

import django

django.setup()

from django.conf import settings
from django.test import Client  # noqa: TID251 (only reads)

from accounts.models import Team
from bench.scenes.full_rules import owner


def main(slug: str, count: int) -> None:
    team = Team.objects.get(slug=slug)
    cookies = []
    for number in range(count):
        browser = Client()
        browser.force_login(owner(team, number))
        cookies.append(
            f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
        )
    print(json.dumps(cookies))  # noqa: T201 - for the bench


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
