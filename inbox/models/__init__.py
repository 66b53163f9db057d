"""Defines the data that the inbox stores beside deliveries."""

from inbox.models.channels import Channel, ChannelEvent, NotedUntil, Notification, NotificationRule
from inbox.models.discussion import Comment, Mention, MentionQuerySet
from inbox.models.personal import (
    Reading,
    Reminder,
    SavedReply,
    Snooze,
)
from inbox.models.preferences import Preferences
from inbox.models.quiet_hours import EVERY_DAY, QuietHours
from inbox.models.search import IndexedUntil, Searchable, Word
from inbox.models.slack import SlackReply, SlackRequest
from inbox.models.web_push import PushKey

__all__ = [
    "EVERY_DAY",
    "Channel",
    "ChannelEvent",
    "Comment",
    "IndexedUntil",
    "Mention",
    "MentionQuerySet",
    "NotedUntil",
    "Notification",
    "NotificationRule",
    "Preferences",
    "PushKey",
    "QuietHours",
    "Reading",
    "Reminder",
    "SavedReply",
    "Searchable",
    "SlackReply",
    "SlackRequest",
    "Snooze",
    "Word",
]
