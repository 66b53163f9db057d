"""Gives a team 50 assignment rules, whose people may answer (bench/assignment.py): `python -m
bench.scenes.full_rules TEAM MATCHING`. If MATCHING is 1, the last rule matches every delivery."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import sys
from datetime import timedelta

import django

django.setup()

from accounts import audit
from accounts.models import Membership, Team, User
from database.clock import database_now
from wake.assignment import rules
from wake.assignment.rules import MAX_RULES, Terms


def main(slug: str, *, matching: bool) -> None:
    team = Team.objects.get(slug=slug)
    people = [owner(team, number) for number in range(2)]
    at = database_now()
    terms = Terms(
        agents=[],
        types=["output"],
        thread_prefix="",
        pointer="/order/total",
        operator="at_least",
        value="100",
        expires_at=at + timedelta(days=30),
        people=[person.pk for person in people],
        role="",
        only_they=False,
        needed=1,
        must_wait=False,
        needs_signature=False,
        claim_within_seconds=None,
        escalation=[],
    )
    everything = terms.copy()
    everything.update({"types": [], "operator": ""})
    for number in range(MAX_RULES):
        is_last = matching and number == MAX_RULES - 1
        team.refresh_from_db()
        rules.add(
            team,
            f"Rule {number}",
            everything if is_last else terms,
            rules_version=team.rules_version,
            by=audit.person(people[0]),
            at=at,
        )


def owner(team: Team, number: int) -> User:
    """Returns one of the team's people, who is created if needed."""
    person, _ = User.objects.get_or_create(
        email=f"{team.slug}-{number}@example.com", defaults={"display_name": f"Owner {number}"}
    )
    Membership.objects.get_or_create(team=team, user=person, role=Membership.Role.OWNER)
    return person


if __name__ == "__main__":
    main(sys.argv[1], matching=sys.argv[2] == "1")
