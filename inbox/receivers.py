"""Updates rows of the inbox in the transaction of an event in a lower app. Such events are: an
answer is undone, content is erased, an action fails, people are assigned, sign out, are
deactivated, or change their time zone."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from accounts.audit import Actor
from accounts.models import User
from accounts.people.signals import person_deactivated, time_zone_changed
from accounts.sign_in.browsers.signals import browser_signed_out, other_browsers_signed_out
from inbox.delivery.discussion.comments import erase_comments
from inbox.delivery.discussion.former_people import replace_name
from inbox.notifications import browsers
from inbox.notifications.channels.recording import record_assigned, record_failure
from inbox.notifications.channels.sending import suspend_deactivated
from inbox.preferences.preferences import change_preferences
from inbox.search import index
from wake import signals
from wake.models import Delivery, Failure


@receiver(signals.taken_back, dispatch_uid="inbox.receivers.forget_feedback")
def forget_feedback(delivery: Delivery, **_: Any) -> None:
    """Removes the feedback from search, because it is a private draft again."""
    index.index_again(delivery)


@receiver(signals.erased, dispatch_uid="inbox.receivers.forget_words")
def forget_words(delivery_ids: Collection[UUID], **_: Any) -> None:
    index.forget(delivery_ids)
    erase_comments(delivery_ids)


@receiver(signals.will_be_removed, dispatch_uid="inbox.receivers.forget_words_of_moved")
def forget_words_of_moved(delivery_ids: Collection[UUID], **_: Any) -> None:
    index.forget(delivery_ids)


@receiver(signals.assigned, dispatch_uid="inbox.receivers.notify_assigned")
def notify_assigned(delivery: Delivery, user_ids: Collection[int], at: datetime, **_: Any) -> None:
    record_assigned(delivery, user_ids=user_ids, at=at)


@receiver(signals.failed, dispatch_uid="inbox.receivers.notify_of_failure")
def notify_of_failure(delivery: Delivery, failure: Failure, at: datetime, **_: Any) -> None:
    record_failure(delivery, failure, at=at)


@receiver(browser_signed_out, dispatch_uid="inbox.receivers.turn_off_browser")
def turn_off_browser(
    user: User, session: browsers.Session, by: Actor, at: datetime, **_: Any
) -> None:
    browsers.turn_off(user, session, by=by, at=at)


@receiver(other_browsers_signed_out, dispatch_uid="inbox.receivers.turn_off_other_browsers")
def turn_off_other_browsers(
    user: User, session: browsers.Session, by: Actor, at: datetime, **_: Any
) -> None:
    browsers.turn_off_others(user, session, by=by, at=at)


@receiver(person_deactivated, dispatch_uid="inbox.receivers.suspend_channels")
def suspend_channels(at: datetime, **_: Any) -> None:
    """Stops the person's mails, web push, and messages in Slack, without waiting for the sweep."""
    suspend_deactivated(at=at)


@receiver(time_zone_changed, dispatch_uid="inbox.receivers.plan_digest_again")
def plan_digest_again(user: User, at: datetime, **_: Any) -> None:
    change_preferences(user, at=at)


@receiver(signals.person_removed, dispatch_uid="inbox.receivers.replace_in_comments")
def replace_in_comments(user: User, names: Collection[str], by: str, **_: Any) -> None:
    replace_name(user, names=names, by=by)
