"""Says what a move to another server does with the tables of the inbox
(wake/management/moving/)."""

from __future__ import annotations

from inbox.models import ChannelEvent, Mention
from wake.management.moving.notes import OtherNumbers, Row, TableNotes, Translate

MADE_AGAIN = "the search indexes the deliveries again"


def _mention_of_notification(row: Row, translate: Translate) -> Row:
    is_mention = row["event"] == ChannelEvent.MENTION
    return {"key": str(translate(Mention._meta.label, int(row["key"])))} if is_mention else {}


NOTES = TableNotes(
    left_out={
        "inbox.Searchable": MADE_AGAIN,
        "inbox.IndexedUntil": MADE_AGAIN,
        "inbox.SlackReply": "updates a message within minutes, from the server that Slack asked",
    },
    numbers={"inbox.Notification": OtherNumbers(["inbox.Mention"], _mention_of_notification)},
)
