"""Updates rows of the inbox in the transaction in which something happens below it: an answer is
undone, content is erased, people are assigned, sign out, or change their time zone."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from accounts import signals as people
from accounts.audit import Actor
from accounts.models import User
from inbox.delivery.discussion.comments import erase_comments
from inbox.notifications.channels.noting import note_assigned
from inbox.notifications.web_push import browsers
from inbox.people.settings.preferences import change_preferences
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


@receiver(people.browser_signed_out, dispatch_uid="inbox.receivers.turn_off_browser")
def turn_off_browser(
    user: User, session: browsers.Session, by: Actor, at: datetime, **_: Any
) -> None:
    browsers.turn_off(user, session, by=by, at=at)


@receiver(people.other_browsers_signed_out, dispatch_uid="inbox.receivers.turn_off_other_browsers")
def turn_off_other_browsers(
    user: User, session: browsers.Session, by: Actor, at: datetime, **_: Any
) -> None:
    browsers.turn_off_others(user, session, by=by, at=at)


@receiver(people.time_zone_changed, dispatch_uid="inbox.receivers.plan_digest_again")
def plan_digest_again(user: User, at: datetime, **_: Any) -> None:
    change_preferences(user, at=at)
