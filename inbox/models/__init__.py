"""Defines what the inbox stores beside deliveries."""

from inbox.models.channels import Channel, Event, NotedUntil, Notification, NotificationRule
from inbox.models.discussion import Comment, Mention, MentionQuerySet
from inbox.models.personal import (
    Reading,
    Reminder,
    SavedReply,
    Snooze,
)
from inbox.models.preferences import EVERY_DAY, Preferences
from inbox.models.search import IndexedUntil, Searchable, Word
from inbox.models.slack import SlackReply, SlackRequest
from inbox.models.web_push import PushKey

__all__ = [
    "EVERY_DAY",
    "Channel",
    "Comment",
    "Event",
    "IndexedUntil",
    "Mention",
    "MentionQuerySet",
    "NotedUntil",
    "Notification",
    "NotificationRule",
    "Preferences",
    "PushKey",
    "Reading",
    "Reminder",
    "SavedReply",
    "Searchable",
    "SlackReply",
    "SlackRequest",
    "Snooze",
    "Word",
]
