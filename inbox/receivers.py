"""What the inbox does when something happens to a delivery; inside that transaction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from inbox import full_text
from wake import signals
from wake.models import Delivery


@receiver(signals.taken_back, dispatch_uid="inbox.receivers.forget_feedback")
def forget_feedback(delivery: Delivery, **_: Any) -> None:
    """The words are a draft again, and that person's alone."""
    full_text.index_again(delivery)


@receiver(signals.erased, dispatch_uid="inbox.receivers.forget_words")
def forget_words(delivery_ids: Collection[UUID], **_: Any) -> None:
    full_text.forget(delivery_ids)
