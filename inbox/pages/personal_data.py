"""Lists what the inbox and the protocol store about a person, for the download of their data."""

from __future__ import annotations

from accounts.people.data.export import ExportSection
from inbox.models import (
    Channel,
    Comment,
    Mention,
    NotificationRule,
    Preferences,
    Reading,
    Reminder,
    SavedReply,
    Snooze,
)
from wake.models import AssignedPerson, Draft, Response, Vote

# Leaves out the addresses of channels if an address is a secret.
SECTIONS = (
    ExportSection(
        "preferences",
        lambda user: Preferences.objects.filter(user=user),
        (
            *("theme", "density", "after_answer", "saved_views", "keyboard", "digest"),
            *("digest_at", "digest_hours", "digest_days", "quiet_from", "quiet_until"),
            *("quiet_days", "wants_reminders", "next_digest_at", "digest_sent_at", "reminded_at"),
        ),
    ),
    ExportSection(
        "channels",
        lambda user: Channel.objects.filter(user=user),
        ("kind", "name", "created_at", "verified_at", "failing_since", "suspended_at", "error"),
    ),
    ExportSection(
        "notification_rules",
        lambda user: NotificationRule.objects.filter(channel__user=user),
        (
            *("channel__name", "events", "agents", "only_assigned", "quiet_from", "quiet_until"),
            *("quiet_days", "most_an_hour"),
        ),
    ),
    ExportSection(
        "team_channels_added",
        lambda user: Channel.objects.filter(added_by=user, user__isnull=True),
        ("kind", "name", "team__slug", "created_at"),
    ),
    ExportSection(
        "saved_replies",
        lambda user: SavedReply.objects.filter(user=user),
        ("status", "name", "text"),
    ),
    ExportSection(
        "drafts",
        lambda user: Draft.objects.filter(user=user),
        ("delivery", "feedback", "edited_json", "saved_at"),
    ),
    ExportSection(
        "answers",
        lambda user: Response.objects.filter(by=user),
        (
            *("delivery", "status", "by_name", "feedback", "edited_json", "answered_at"),
            *("responded_at", "sent_at", "picked_up_at", "place", "all_in_sight"),
        ),
    ),
    ExportSection(
        "votes",
        lambda user: Vote.objects.filter(user=user),
        ("delivery", "name", "feedback", "voted_at", "place", "all_in_sight"),
    ),
    ExportSection(
        "comments",
        lambda user: Comment.objects.filter(author=user),
        ("delivery", "author_name", "text", "written_at", "removed_at"),
    ),
    ExportSection(
        "mentions",
        lambda user: Mention.objects.filter(user=user),
        ("delivery", "comment__author_name", "seen_at"),
    ),
    ExportSection(
        "assigned",
        lambda user: AssignedPerson.objects.filter(user=user),
        ("assignment", "name", "deputy_for", "taken_at", "added_after"),
    ),
    ExportSection(
        "opened",
        lambda user: Reading.objects.filter(user=user),
        ("delivery", "opened_at", "reading_until", "marked_unread_at"),
    ),
    ExportSection("snoozed", lambda user: Snooze.objects.filter(user=user), ("delivery", "until")),
    ExportSection(
        "reminders", lambda user: Reminder.objects.filter(user=user), ("delivery", "sent_at")
    ),
)
