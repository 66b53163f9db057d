"""Delivers and approves, and prints the id and the digest of each delivery (bench/claims.py):
`python -m bench.scenes.approvals AGENT COUNT`."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import json
import sys

import django

django.setup()

from accounts.models import Agent
from bench.scenes.full_rules import owner
from database.clock import database_now
from wake.deliveries import deliver
from wake.models import Response
from wake.responses import release, respond


def main(agent_id: str, count: int) -> None:
    agent = Agent.objects.select_related("team").get(agent_id=agent_id)
    person, approved = owner(agent.team, 0), []
    for number in range(count):
        delivery = deliver(
            agent,
            agent_id=agent_id,
            provider="claude",
            type="question",
            headline=f"Refund {number}?",
            summary="The customer was charged twice.",
            irreversible=True,
            digest=True,
            at=database_now(),
        ).delivery
        response = respond(
            delivery,
            by=person,
            status="approved",
            content_hash=delivery.content_hash,
            at=database_now(),
        )
        if isinstance(response, Response):
            release(response, at=database_now())
        approved.append((str(delivery.pk), delivery.content_hash))
    json.dump(approved, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
