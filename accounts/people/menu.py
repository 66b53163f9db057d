"""Lists the settings pages about people and teams (pages/settings.py)."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from accounts.people.absence import absence_of
from accounts.people.overview import Settings
from accounts.people.profile import UTC
from database.clock import database_now
from pages.attention import Note
from pages.settings import OWN, TEAMS, SettingsPage


def _time_zone(settings: Settings) -> str:
    return settings.user.time_zone


def _time_zone_notes(settings: Settings) -> Iterator[Note]:
    user = settings.user
    if user.time_zone == UTC and user.time_zone_chosen_at is None:
        yield Note("Times are in UTC. Choose your time zone.", reverse("settings-profile"))


def _two_step(settings: Settings) -> str:
    return "Two-step on" if settings.has_second_factor else "Two-step off"


def _two_step_notes(settings: Settings) -> Iterator[Note]:
    if not settings.has_second_factor:
        words = "Two-step sign-in is off, so a stolen password is enough to sign in as you."
        yield Note(words, reverse("settings-security"), is_risk=True)


def _absence(settings: Settings) -> str:
    return "Away" if absence_of(settings.user, at=database_now()) else "Not away"


def _team_count(settings: Settings) -> str:
    return str(len(settings.teams) or "None")


def _member_count(settings: Settings) -> str:
    people = len({each.user_id for own in settings.teams for each in own.people})
    return f"{people} {'person' if people == 1 else 'people'}"


def _member_notes(settings: Settings) -> Iterator[Note]:
    for own in settings.teams:
        without = own.without_second_factor
        if own.is_owner and len(own.people) > 1 and without > (not settings.has_second_factor):
            are = "member signs" if without == 1 else "members sign"
            words = f"{own.team}: {without} {are} in without two-step sign-in."
            yield Note(words, reverse("settings-members"))


ENTRIES = [
    SettingsPage(
        OWN,
        10,
        "Profile",
        "settings-profile",
        also=("settings-address", "settings-password"),
        text="Your name, e-mail address, time zone and password.",
        state=_time_zone,
        notes=_time_zone_notes,
    ),
    SettingsPage(
        OWN,
        20,
        "Security",
        "settings-security",
        text="Two-step sign-in, passkeys, connected clients and sessions.",
        state=_two_step,
        notes=_two_step_notes,
    ),
    SettingsPage(
        OWN,
        90,
        "Absence",
        "settings-absence",
        text="Your deputy while you're away.",
        state=_absence,
    ),
    SettingsPage(
        OWN,
        110,
        "Your data",
        "settings-data",
        text="Download what is stored about you, or remove your account.",
        action="Open",
    ),
    SettingsPage(
        TEAMS,
        10,
        "Teams",
        "settings-teams",
        text="Names, and whether members need two-step sign-in.",
        state=_team_count,
    ),
    SettingsPage(
        TEAMS,
        20,
        "Members",
        "settings-members",
        text="The people in your teams, their roles and invitations.",
        state=_member_count,
        notes=_member_notes,
    ),
    SettingsPage(
        TEAMS,
        25,
        "Clients",
        "settings-clients",
        text="The people who may connect ChatGPT, Claude and other clients.",
    ),
]
