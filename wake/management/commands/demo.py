"""`manage.py demo` fills an inbox with realistic deliveries to look at."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.access import objects as access
from accounts.management import first_run, operator
from accounts.models import Membership, Team, User
from database.clock import database_now
from wake.management import episodes
from wake.management.commands.up import FIRST_EMAIL
from wake.server.run.greeting import greeting
from wake.server.settings import env

COLLEAGUE = "sam@example.com"


class Command(BaseCommand):
    help = (
        "Fills a team's inbox with a week of demo data: six agents, their deliveries and the "
        "answers. Running it again adds nothing twice."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--team", metavar="SLUG", help="defaults to the first team")
        parser.add_argument("--force", action="store_true", help="run in production, too")

    def handle(self, *args: Any, team: str | None, force: bool, **options: Any) -> None:
        if settings.PRODUCTION and not force:
            raise CommandError(
                "This server is in production, so the demo would mix with real work. "
                "To add it anyway, run: manage.py demo --force"
            )
        given = env.secret_text("WAKE_ADMIN_PASSWORD")
        if welcome := _set_up(given):
            self.stdout.write(greeting(welcome, is_password_given=bool(given)))
        demo_team = _team(team)
        owner = _owner(demo_team)
        people = {"owner": owner, "sam": _colleague(demo_team) or owner}
        count = episodes.play(demo_team, people=people, by=operator.OPERATOR, at=database_now())
        result = f"{count} new deliveries are" if count else "All demo deliveries are already"
        self.stdout.write(f"{result} in the inbox of {demo_team}: {settings.WAKE_ORIGIN}/")
        if welcome:
            self.stdout.write("The server is not running yet. Start it with: make run")


def _set_up(given: str) -> first_run.Welcome | None:
    """Sets up an empty server as the first `make run` would, so that a person can sign in. Returns
    None if there are people already."""
    try:
        return first_run.set_up(
            email=os.environ.get("WAKE_ADMIN_EMAIL", "").strip() or FIRST_EMAIL,
            password=given or operator.new_password(),
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
    """Adds a colleague who gave some of the answers. The colleague's password is discarded, so no
    one can sign in as them."""
    try:
        membership, _ = operator.add_person(
            COLLEAGUE,
            team_slug=team.slug,
            role=Membership.Role.REVIEWER,
            password=operator.new_password(),
        )
    except operator.HasAnotherRole:
        membership = team.memberships.get(user__email=COLLEAGUE)
    return membership.user if access.may_answer(membership.user, team.pk) else None
