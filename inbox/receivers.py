"""Updates the search index when an answer is undone, erases words and comments when content is, and
notes whom to tell that they were assigned, in the same transaction."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from inbox.delivery.discussion.comments import erase_comments
from inbox.notifications.channels.noting import note_assigned
from inbox.search import index
from wake import signals
from wake.models import Delivery


@receiver(signals.taken_back, dispatch_uid="inbox.receivers.forget_feedback")
def forget_feedback(delivery: Delivery, **_: Any) -> None:
    """Removes the feedback from search: it is a private draft again."""
    index.index_again(delivery)


@receiver(signals.erased, dispatch_uid="inbox.receivers.forget_words")
def forget_words(delivery_ids: Collection[UUID], **_: Any) -> None:
    index.forget(delivery_ids)
    erase_comments(delivery_ids)


@receiver(signals.assigned, dispatch_uid="inbox.receivers.tell_assigned")
def tell_assigned(delivery: Delivery, user_ids: Collection[int], at: datetime, **_: Any) -> None:
    note_assigned(delivery, user_ids=user_ids, at=at)
