"""Summarizes a person's settings and their teams': the state of each, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from accounts.models import User
from accounts.sign_in import second_factor
from database.clock import database_now
from inbox.assignment.rule_counts import count_rules
from inbox.callbacks.team_hosts import hosts_by_team
from inbox.models import Channel, Preferences, SavedReply
from inbox.notifications.channels.listing import failing_for
from inbox.people.settings.absence import absence_of
from inbox.people.settings.preferences import preferences_of
from inbox.people.teams.teams import OwnTeam, own_teams
from pages.attention import Note
from wake.retention import days_kept

UTC = "UTC"


@dataclass(frozen=True, slots=True)
class Concern:
    """One settings page on the overview. `id` is its anchor, and `page` the name of its URL."""

    id: str
    title: str
    text: str
    state: str
    page: str
    action: str = "Change"

    @property
    def href(self) -> str:
        return reverse(self.page)

    @property
    def label(self) -> str:
        return f"{self.action}: {self.title}"


@dataclass(frozen=True, slots=True)
class Overview:
    own: list[Concern]
    teams: list[Concern]
    notes: list[Note]


def overview_of(user: User) -> Overview:
    """Asks nine queries, however many teams there are."""
    preferences, teams = preferences_of(user), own_teams(user)
    channels, failing = Channel.objects.filter(user=user).count(), failing_for(user)
    has_factor = second_factor.is_on(user)
    return Overview(
        own=list(_own_concerns(user, preferences, channels, has_factor=has_factor)),
        teams=list(_team_concerns(teams)),
        notes=[
            *_notes(user, preferences, teams, has_factor=has_factor),
            *(_note_of(channel) for channel in failing),
        ],
    )


def _own_concerns(
    user: User, preferences: Preferences, channels: int, *, has_factor: bool
) -> Iterator[Concern]:
    has_quiet_hours = preferences.quiet_from is not None
    two_step = "Two-step on" if has_factor else "Two-step off"
    replies = str(SavedReply.objects.of(user).count() or "None")
    shortcuts = preferences.get_keyboard_display()
    yield Concern(
        "profile",
        "Profile",
        "Your name, e-mail address, time zone and password.",
        user.time_zone,
        "settings-profile",
    )
    yield Concern(
        "security",
        "Security",
        "Two-step sign-in, passkeys and sessions.",
        two_step,
        "settings-security",
    )
    yield Concern(
        "theme",
        "Theme",
        "Light, dark, or the same as this device.",
        preferences.get_theme_display(),
        "settings-theme",
    )
    yield Concern(
        "answering",
        "After you answer",
        "The page that opens next.",
        preferences.get_after_answer_display(),
        "settings-answering",
    )
    yield Concern(
        "keyboard", "Keyboard shortcuts", "Single keys (j, k, a …).", shortcuts, "settings-keyboard"
    )
    yield Concern(
        "digest",
        "Digest",
        "A summary by e-mail of the deliveries that need you.",
        preferences.get_digest_display(),
        "settings-digest",
    )
    yield Concern(
        "quiet-hours",
        "Quiet hours",
        "Times when we hold e-mails and notifications back.",
        "On" if has_quiet_hours else "Off",
        "settings-quiet-hours",
    )
    yield Concern(
        "notifications",
        "Notifications",
        "The channels that notify you.",
        str(channels or "None"),
        "settings-notifications",
    )
    yield Concern(
        "absence",
        "Absence",
        "Your deputy while you're away.",
        "Away" if absence_of(user, at=database_now()) else "Not away",
        "settings-absence",
    )
    yield Concern(
        "saved-replies",
        "Saved replies",
        "Messages that you often send.",
        replies,
        "settings-saved-replies",
    )
    yield Concern(
        "data",
        "Your data",
        "Download what is stored about you, or remove your account.",
        "",
        "settings-data",
        "Open",
    )


def _team_concerns(teams: Sequence[OwnTeam]) -> Iterator[Concern]:
    people = len({each.user_id for own in teams for each in own.people})
    team_ids = [own.team.pk for own in teams]
    hosts = sum(map(len, hosts_by_team(team_ids).values()))
    rules = count_rules(team_ids).total()
    limited_days = days_kept(own.team for own in teams)
    limited = f"{len(limited_days)} of {len(teams)} limited" if limited_days else "Kept forever"
    yield Concern(
        "teams",
        "Teams",
        "Names, and whether members need two-step sign-in.",
        str(len(teams) or "None"),
        "settings-teams",
    )
    yield Concern(
        "members",
        "Members",
        "The people in your teams, their roles and invitations.",
        f"{people} {'person' if people == 1 else 'people'}",
        "settings-members",
    )
    yield Concern(
        "rules",
        "Rules",
        "Decide who is asked, and approve routine deliveries.",
        str(rules or "None"),
        "settings-rules",
    )
    yield Concern(
        "allowlist",
        "Callback hosts",
        "The hosts that callbacks may go to.",
        str(hosts or "None"),
        "settings-allowlist",
    )
    yield Concern(
        "retention", "Retention", "How long content is kept.", limited, "settings-retention"
    )
    yield Concern(
        "audit", "Audit log", "Everyone's actions, with their times.", "", "audit", action="Open"
    )


def _notes(
    user: User, preferences: Preferences, teams: Sequence[OwnTeam], *, has_factor: bool
) -> Iterator[Note]:
    if not has_factor:
        words = "Two-step sign-in is off, so a stolen password is enough to sign in as you."
        yield Note(words, reverse("settings-security"))
    if user.time_zone == UTC and user.time_zone_chosen_at is None:
        yield Note("Times are in UTC. Choose your time zone.", reverse("settings-profile"))
    if preferences.digest_error and settings.WAKE_SENDS_MAIL:
        words = f"The last digest couldn't be sent: {preferences.digest_error}"
        yield Note(words, reverse("settings-digest"))
    for own in teams:
        without = own.without_second_factor
        if own.is_owner and len(own.people) > 1 and without > (not has_factor):
            are = "member signs" if without == 1 else "members sign"
            words = f"{own.team}: {without} {are} in without two-step sign-in."
            yield Note(words, reverse("settings-members"))


def _note_of(channel: Channel) -> Note:
    href = reverse("settings-channel", args=[channel.pk])
    state = "is suspended" if channel.suspended_at else "is failing"
    return Note(f"The channel {channel.name} {state}: {channel.error}", href)
