"""Lists the settings pages of the inbox (pages/settings.py)."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings as server
from django.urls import reverse

from accounts.access.operators import is_operator
from accounts.models import Gate
from accounts.people.overview import Settings
from database.clock import database_now
from inbox.assignment.rule_counts import count_rules
from inbox.callbacks.team_hosts import hosts_by_team
from inbox.models import Channel, SavedReply
from inbox.notifications.channels.listing import failing_for
from inbox.preferences.preferences import preferences_of
from pages.attention import Note
from pages.settings import OWN, SERVER, TEAMS, SettingsPage
from wake.retention import days_kept


def _theme(settings: Settings) -> str:
    return preferences_of(settings.user).get_theme_display()


def _after_answer(settings: Settings) -> str:
    return preferences_of(settings.user).get_after_answer_display()


def _keyboard(settings: Settings) -> str:
    return preferences_of(settings.user).get_keyboard_display()


def _digest(settings: Settings) -> str:
    return preferences_of(settings.user).get_digest_display()


def _digest_notes(settings: Settings) -> Iterator[Note]:
    error = preferences_of(settings.user).digest_error
    if error and server.WAKE_SENDS_MAIL:
        yield Note(f"The last digest couldn't be sent: {error}", reverse("settings-digest"))


def _quiet_hours(settings: Settings) -> str:
    return "Off" if preferences_of(settings.user).quiet_from is None else "On"


def _channel_count(settings: Settings) -> str:
    return str(Channel.objects.filter(user=settings.user).count() or "None")


def _channel_notes(settings: Settings) -> Iterator[Note]:
    for channel in failing_for(settings.user):
        state = "is suspended" if channel.suspended_at else "is failing"
        href = reverse("settings-channel", args=[channel.pk])
        yield Note(f"The channel {channel.name} {state}: {channel.error}", href)


def _saved_reply_count(settings: Settings) -> str:
    return str(SavedReply.objects.of(settings.user).count() or "None")


def _rule_count(settings: Settings) -> str:
    return str(count_rules(settings.team_ids).total() or "None")


def _host_count(settings: Settings) -> str:
    return str(sum(map(len, hosts_by_team(settings.team_ids).values())) or "None")


def _gate_count(settings: Settings) -> str:
    owned = [own.team.pk for own in settings.teams if own.is_owner]
    if not owned:
        return ""
    return str(Gate.objects.usable(database_now()).filter(team__in=owned).count() or "None")


def _retention(settings: Settings) -> str:
    limited = days_kept(own.team for own in settings.teams)
    return f"{len(limited)} of {len(settings.teams)} limited" if limited else "Kept forever"


ENTRIES = [
    SettingsPage(
        OWN,
        30,
        "Theme",
        "settings-theme",
        text="Light, dark, or the same as this device.",
        state=_theme,
    ),
    SettingsPage(
        OWN,
        40,
        "After you answer",
        "settings-answering",
        text="The page that opens next.",
        state=_after_answer,
    ),
    SettingsPage(
        OWN,
        50,
        "Keyboard shortcuts",
        "settings-keyboard",
        text="Single keys (j, k, a …).",
        state=_keyboard,
    ),
    SettingsPage(
        OWN,
        60,
        "Digest",
        "settings-digest",
        text="A summary by e-mail of the deliveries that need you.",
        state=_digest,
        notes=_digest_notes,
    ),
    SettingsPage(
        OWN,
        70,
        "Quiet hours",
        "settings-quiet-hours",
        text="Times when we hold e-mails and notifications back.",
        state=_quiet_hours,
    ),
    SettingsPage(
        OWN,
        80,
        "Notifications",
        "settings-notifications",
        text="The channels that notify you.",
        state=_channel_count,
        notes=_channel_notes,
    ),
    SettingsPage(
        OWN,
        100,
        "Saved replies",
        "settings-saved-replies",
        text="Messages that you often send.",
        state=_saved_reply_count,
    ),
    SettingsPage(
        TEAMS,
        30,
        "Rules",
        "settings-rules",
        text="Decide who is asked, and approve routine deliveries.",
        state=_rule_count,
    ),
    SettingsPage(
        TEAMS,
        40,
        "Callback hosts",
        "settings-allowlist",
        text="The hosts that callbacks may go to.",
        state=_host_count,
    ),
    SettingsPage(
        TEAMS,
        45,
        "Gate keys",
        "settings-gates",
        text="Keys of services that use approvals themselves.",
        state=_gate_count,
    ),
    SettingsPage(
        TEAMS,
        50,
        "Retention",
        "settings-retention",
        text="How long content is kept.",
        state=_retention,
    ),
    SettingsPage(
        TEAMS,
        60,
        "Audit log",
        "audit",
        text="Everyone's actions, with their times.",
        action="Open",
        is_in_menu=False,
    ),
    SettingsPage(
        SERVER,
        10,
        "Server",
        "settings-server",
        text="Whether the server is well, and what to do if not.",
        action="Open",
        is_for=is_operator,
    ),
]
