"""A person's answer: given and held, then released to the agent; or taken back before it left."""

from __future__ import annotations

import json
import logging
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.access import NotAllowed, is_owner, may_answer
from accounts.audit import person, record
from accounts.models import Agent, User
from wake import outbox, signals
from wake.connections import DATABASE_AWAY
from wake.cursor import stamp_activity
from wake.models import Callback, Delivery, Draft, Response

log = logging.getLogger(__name__)

RELEASE_AT_ONCE = 500
LOOK_AGAIN_AFTER = timedelta(minutes=1)


class AlreadyAnswered(Exception):
    """Somebody answered first."""

    def __init__(self, response: Response) -> None:
        super().__init__(AlreadyAnswered.__doc__)
        self.response = response


class ContentChanged(Exception):
    """The answer was not given to what is there now: read it again, then answer."""


class ContentErased(ContentChanged):
    """Its content was erased: nothing is left that could be answered."""


class Withdrawn(ContentChanged):
    """The task behind it was cancelled or has gone on: nothing is left to answer."""


class NothingToSend(Exception):
    """A redirect needs feedback or an edit."""


class EditNotWanted(Exception):
    """Edited content goes with a redirect only."""


class BadEdit(Exception):
    """An edit is an object or a text, like what the agent sent."""


class PickedUp(Exception):
    """The answer has left for the agent and cannot be taken back."""

    def __init__(self, response: Response) -> None:
        super().__init__(PickedUp.__doc__)
        self.response = response


@transaction.atomic
def respond(
    delivery: Delivery,
    *,
    by: User,
    status: str,
    content_hash: str,
    feedback: str = "",
    edited_json: str | None = None,
    address: str = "",
    at: datetime | None = None,
) -> Response:
    """Stores the answer and holds it (PROTOCOL.md, Answering); raises NotAllowed, AlreadyAnswered,
    ContentChanged (of which ContentErased and Withdrawn are two), NothingToSend, EditNotWanted or
    BadEdit. The same person's same answer again is the one already there.

    `edited_json` is the JSON text of an object or a string.
    """
    if not may_answer(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    feedback = feedback.strip()
    _check(status, feedback, edited_json)
    if not settings.WAKE_HOLD_SECONDS:
        _lock_agent(delivery.agent_id)  # released below, and the lock order is agent, key, delivery
    delivery = (
        Delivery.objects.select_for_update(of=("self",)).select_related("agent").get(pk=delivery.pk)
    )
    if earlier := Response.objects.filter(delivery=delivery).first():
        if (earlier.by_id, earlier.status) == (by.pk, status) and (
            earlier.feedback,
            earlier.edited_json,
        ) == (feedback, edited_json):
            return earlier
        raise AlreadyAnswered(earlier)
    if delivery.erased_at is not None:
        raise ContentErased(ContentErased.__doc__)
    if delivery.withdrawn_at is not None:
        raise Withdrawn(Withdrawn.__doc__)
    if delivery.is_closed or content_hash != delivery.content_hash:
        raise ContentChanged(ContentChanged.__doc__)
    at = at or timezone.now()
    response = Response.objects.create(
        delivery=delivery,
        status=status,
        feedback=feedback,
        edited_json=edited_json,
        by=by,
        by_name=by.display_name,
        answered_at=at,
        release_at=at + delivery.hold(settings.WAKE_HOLD_SECONDS, at),
    )
    delivery.answered_at = at
    delivery.save(update_fields=["answered_at"])
    Draft.objects.filter(delivery=delivery, user=by).delete()
    record(
        "delivery.answered",
        by=person(by, address),
        of=delivery,
        team=delivery.team_id,
        at=at,
        status=status,
        late=response.is_late,
        content_hash=content_hash,
    )
    if not settings.WAKE_HOLD_SECONDS:
        release(response, at=at)
        response.refresh_from_db()
    return response


@transaction.atomic
def release(response: Response, *, at: datetime) -> bool:
    """Makes a held answer visible to the agent and queues its callback; False where it was released
    or taken back."""
    agent = response.delivery.agent
    activity_at = stamp_activity(agent, at=at)
    delivery = Delivery.objects.select_for_update().get(pk=response.delivery_id)
    held = Response.objects.held().filter(pk=response.pk).first()
    if held is None:
        return False
    held.delivery = delivery
    held.responded_at = activity_at
    held.save(update_fields=["responded_at"])
    delivery.status = held.status
    delivery.activity_at = activity_at
    delivery.save(update_fields=["status", "activity_at"])
    if vars(delivery)["callback_webhook"]:  # not read: the agent's poll must not need its key
        outbox.queue(held)
    signals.released.send(sender=Response, response=held)
    return True


def release_due(*, at: datetime, agent_id: UUID | None = None) -> int:
    """Releases every answer whose hold is over, of all agents or of the one that is reading; each
    on its own. One that fails goes to the end, and in the sweep of all is due again in a minute, so
    that however many fail they hold no other back."""
    due = Response.objects.due(at).select_related("delivery__agent").order_by("release_at")
    due = due.defer("delivery__details_json", "feedback", "edited_json")
    if agent_id is not None:
        due = due.filter(delivery__agent_id=agent_id)
    released = 0
    failed: list[tuple[UUID, Exception]] = []
    for response in due[:RELEASE_AT_ONCE]:
        try:
            released += release(response, at=at)
        except DATABASE_AWAY:
            raise
        except Exception as error:
            wait = LOOK_AGAIN_AFTER if agent_id is None else timedelta(0)
            Response.objects.held().filter(pk=response.pk).update(release_at=at + wait)
            failed.append((response.pk, error))
    if failed:
        log.error(
            "%s held answers cannot be released and are tried again; the first is %s",
            len(failed),
            failed[0][0],
            exc_info=failed[0][1],
        )
    return released


@transaction.atomic
def take_back(
    delivery: Delivery, *, by: User, address: str = "", at: datetime | None = None
) -> Draft:
    """Undoes an answer that has not left yet and keeps its words as the draft of who gave it.

    Raises NotAllowed (for others than that person or an owner), PickedUp, or Response.DoesNotExist,
    also where retention has left no words of it.
    """
    delivery = Delivery.objects.select_for_update().get(pk=delivery.pk)
    # Locked callback first, then response, as a sender does (wake/outbox.py).
    list(Callback.objects.select_for_update().filter(response__delivery=delivery).values_list("pk"))
    kept = Response.objects.filter(delivery__erased_at__isnull=True)
    response = kept.select_for_update(of=("self",)).get(delivery=delivery)
    if response.by_id != by.pk and not is_owner(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if response.sent_at is not None:
        raise PickedUp(response)
    at = at or timezone.now()
    draft, _ = Draft.objects.update_or_create(
        delivery=delivery,
        user=response.by or by,
        defaults={
            "feedback": response.feedback,
            "edited_json": response.edited_json,
            "saved_at": at,
        },
    )
    response.delete()
    delivery.status = Delivery.Status.PENDING
    delivery.answered_at = None
    delivery.save(update_fields=["status", "answered_at"])
    record(
        "response.taken_back",
        by=person(by, address),
        of=delivery,
        team=delivery.team_id,
        at=at,
        status=response.status,
        content_hash=delivery.content_hash,
        after_seconds=round((at - response.answered_at).total_seconds(), 3),
    )
    signals.taken_back.send(sender=Response, delivery=delivery)
    return draft


def _check(status: str, feedback: str, edited_json: str | None) -> None:
    if status not in Response.Status.values:
        raise ValueError(f"{status!r} is no answer.")
    if edited_json is not None:
        if status != Response.Status.REDIRECTED:
            raise EditNotWanted(EditNotWanted.__doc__)
        if not isinstance(json.loads(edited_json), dict | str):
            raise BadEdit(BadEdit.__doc__)
    elif status == Response.Status.REDIRECTED and not feedback:
        raise NothingToSend(NothingToSend.__doc__)


def _lock_agent(agent_id: Any) -> None:
    Agent.objects.select_for_update().only("pk").get(pk=agent_id)
