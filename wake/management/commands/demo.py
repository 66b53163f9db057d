"""`manage.py demo`: a believable inbox to look at."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts import access, first_run, operator
from accounts.models import Membership, Team, User
from wake.greeting import greeting
from wake.management import episodes
from wake.management.commands.up import FIRST_EMAIL

COLLEAGUE = "sam@example.com"


class Command(BaseCommand):
    help = (
        "Fills a team's inbox with a believable week: six agents, their deliveries, and what "
        "became of them. Run again, it adds nothing twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", metavar="SLUG", help="the first team if left out")
        parser.add_argument("--force", action="store_true", help="in production, too")

    def handle(self, *args: Any, team: str | None, force: bool, **options: Any) -> None:
        if settings.PRODUCTION and not force:
            raise CommandError(
                "This server is in production, and the demo would stand among real work. "
                "If you want it all the same: manage.py demo --force"
            )
        if welcome := _set_up():
            self.stdout.write(greeting(welcome))
        found = _team(team)
        owner = _owner(found)
        people = {"owner": owner, "sam": _colleague(found) or owner}
        count = episodes.play(found, people=people, by=operator.OPERATOR, at=timezone.now())
        told = f"{count} new deliveries are" if count else "The whole demo is already"
        self.stdout.write(f"{told} in the inbox of {found}: {settings.WAKE_ORIGIN}/")
        if welcome:
            self.stdout.write("Nothing runs yet. Start it: make run")


def _set_up() -> first_run.Welcome | None:
    """On an empty server what the first `make run` would make, so that somebody can sign in and
    look; else None."""
    try:
        return first_run.set_up(
            email=os.environ.get("WAKE_ADMIN_EMAIL", "").strip() or FIRST_EMAIL,
            password=os.environ.get("WAKE_ADMIN_PASSWORD", "") or operator.new_password(),
        )
    except ValidationError as error:
        raise CommandError(operator.in_one_sentence(error)) from error


def _team(slug: str | None) -> Team:
    teams = Team.objects.order_by("pk")
    team = (teams.filter(slug=slug) if slug else teams).first()
    if team is None:
        raise CommandError(f"There is no team {slug!r}." if slug else "There is no team yet.")
    return team


def _owner(team: Team) -> User:
    owners = team.memberships.filter(role=Membership.Role.OWNER).select_related("user")
    first = owners.order_by("pk").first()
    if first is None:
        raise CommandError(
            f"{team} has no owner who could answer: "
            f"manage.py add_person EMAIL --team {team.slug} --role owner"
        )
    return first.user


def _colleague(team: Team) -> User | None:
    """Somebody who answered what the owner did not; their password is known to nobody."""
    try:
        membership, _ = operator.add_person(
            COLLEAGUE,
            team_slug=team.slug,
            role=Membership.Role.REVIEWER,
            password=operator.new_password(),
        )
    except operator.AlreadyMember:
        membership = team.memberships.get(user__email=COLLEAGUE)
    return membership.user if access.may_answer(membership.user, team.pk) else None
