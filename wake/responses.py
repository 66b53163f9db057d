"""Stores a person's answer and holds it, releases it to the agent, or takes it back before that."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.access.objects import NotAllowed, is_owner, may_answer
from accounts.audit import Actor, person, record
from accounts.models import Agent, User
from database import sweeps
from wake import signals
from wake.assignment.taking import check_may_answer
from wake.assignment.votes import Quorum, quorum_of, vote, without_vote_of
from wake.callbacks import outbox
from wake.models import (
    AnsweringRule,
    AnsweringVersion,
    Callback,
    Delivery,
    Draft,
    Response,
    Trial,
    Vote,
)
from wake.models.cursor import stamp_activity
from wake.models.responses import ResponseQuerySet
from wake.models.sights import BY_RULE, UNKNOWN, Sight
from wake.signals import notify_inbox

RELEASE_AT_ONCE = 500
LOOK_AGAIN_AFTER = timedelta(minutes=1)


class AlreadyAnswered(Exception):
    """Another person answered first."""

    def __init__(self, response: Response) -> None:
        super().__init__(AlreadyAnswered.__doc__)
        self.response = response


class ContentChanged(Exception):
    """The delivery has changed since you opened it. Read it again, then answer."""


class ContentErased(ContentChanged):
    """The content of this delivery was erased, so it cannot be answered."""


class Withdrawn(ContentChanged):
    """No answer needed: the agent withdrew this or moved on."""


class Replaced(ContentChanged):
    """The agent replaced it with a new version while the person was reading it."""


class NothingToSend(Exception):
    """A redirect needs feedback or an edit."""


class EditNotWanted(Exception):
    """Only a redirect can have edited content."""


class BadEdit(Exception):
    """Edited content must be a JSON object or a text."""


class PickedUp(Exception):
    """The answer was sent to the agent and cannot be taken back."""

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
    knows_replaced: bool = False,
    sight: Sight = UNKNOWN,
    address: str = "",
    at: datetime,
) -> Response | Vote:
    """Stores the answer and holds it (docs/protocol.md, Answering). The same answer of the same
    person again returns the stored one. `edited_json` is the JSON text of an object or a string.
    Returns the person's vote if it is an approval, and more people have to approve.
    A delivery that was replaced takes an answer from a person who knows it (`knows_replaced`).
    `sight` says where it was given, and whether everything was in sight there.

    Raises NotAllowed (or its subclass NotAssigned), AlreadyAnswered, ContentChanged (or its
    subclasses ContentErased, Withdrawn and Replaced), NothingToSend, EditNotWanted or BadEdit.
    """
    if not may_answer(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    feedback = feedback.strip()
    _check(status, feedback, edited_json)
    if not settings.WAKE_HOLD_SECONDS:
        _lock_agent(delivery.agent_id)  # released below, and the lock order is agent, key, delivery
    rows = Delivery.objects.select_for_update(of=("self",)).select_related("agent", "team")
    delivery = rows.get(pk=delivery.pk)
    if earlier := Response.objects.filter(delivery=delivery).first():
        if _is_same(earlier, by, status, feedback, edited_json):
            return earlier
        raise AlreadyAnswered(earlier)
    check_may_answer(delivery, by=by)
    if delivery.erased_at is not None:
        raise ContentErased(ContentErased.__doc__)
    if delivery.withdrawn_at is not None:
        raise Withdrawn(Withdrawn.__doc__)
    if delivery.superseded_at is not None and (delivery.is_closed or not knows_replaced):
        raise Replaced(Replaced.__doc__)
    if delivery.is_closed or content_hash != delivery.content_hash:
        raise ContentChanged(ContentChanged.__doc__)
    quorum = quorum_of(delivery)
    if quorum and status != Response.Status.APPROVED:
        quorum = without_vote_of(by, quorum)
    elif quorum:
        is_new = vote(delivery, by=by, feedback=feedback, sight=sight, at=at)
        quorum = quorum_of(delivery) or quorum
        if quorum.missing:
            if is_new:
                Draft.objects.filter(delivery=delivery, user=by).delete()
                _record_vote(delivery, quorum, by=person(by, address), sight=sight, at=at)
            return Vote.objects.get(delivery=delivery, user=by)
        feedback = quorum.feedback
    Draft.objects.filter(delivery=delivery, user=by).delete()
    if status != Response.Status.APPROVED:
        # From its commit on, no rule approves what is like it (wake/answering/refusals.py).
        AnsweringRule.objects.filter(team=delivery.team_id, removed_at__isnull=True).lock()
    return _store(
        Response(
            delivery=delivery,
            status=status,
            feedback=feedback,
            edited_json=edited_json,
            by=by,
            by_name=by.display_name,
            quorum_json=(
                quorum.as_json(status=status, by_name=by.display_name, at=at) if quorum else ""
            ),
            answered_at=at,
        ),
        by=person(by, address),
        sight=sight,
    )


def approve_by_rule(delivery: Delivery, version: AnsweringVersion, *, at: datetime) -> Response:
    """Approves a delivery that waits, for a rule of its team, and holds the answer. The caller has
    locked the agent and the delivery."""
    name = version.rule.name
    return _store(
        Response(
            delivery=delivery,
            status=Response.Status.APPROVED,
            by_name=f"the rule “{name}”",
            rule_version=version,
            answered_at=at,
        ),
        by=Actor("rule", str(version.rule_id), name),
        sight=BY_RULE,
        rule_version=version.number,
    )


def _store(response: Response, *, by: Actor, sight: Sight, **detail: Any) -> Response:
    """Stores the answer to a locked delivery, and holds or releases it."""
    delivery, at = response.delivery, response.answered_at
    response.place, response.all_in_sight = sight.place, sight.all_in_sight
    response.left_out = sight.left_out_text
    response.release_at = at + delivery.hold(settings.WAKE_HOLD_SECONDS, at)
    response.save(force_insert=True)
    delivery.answered_at = at
    delivery.save(update_fields=["answered_at"])
    record(
        "delivery.answered",
        by=by,
        of=delivery,
        team=delivery.team_id,
        at=at,
        status=response.status,
        late=response.is_late,
        content_hash=delivery.content_hash,
        **sight.in_audit(),
        **detail,
    )
    notify_inbox([delivery])
    if not settings.WAKE_HOLD_SECONDS:
        release(response, at=at)
        response.refresh_from_db()
    return response


def _record_vote(
    delivery: Delivery, quorum: Quorum, *, by: Actor, sight: Sight, at: datetime
) -> None:
    record(
        "delivery.voted",
        by=by,
        of=delivery,
        team=delivery.team_id,
        at=at,
        needed=quorum.needed,
        have=quorum.have,
        content_hash=delivery.content_hash,
        **sight.in_audit(),
    )
    notify_inbox([delivery])


def _is_same(
    earlier: Response, by: User, status: str, feedback: str, edited_json: str | None
) -> bool:
    """Returns whether this person gave this very answer. The response to several votes has the
    words of all of them."""
    if (earlier.by_id, earlier.status, earlier.edited_json) != (by.pk, status, edited_json):
        return False
    votes = Vote.objects.filter(delivery=earlier.delivery_id, user=by)
    own = votes.first() if earlier.quorum_json else None
    return feedback == (own.feedback if own else earlier.feedback)


@transaction.atomic
def release(response: Response, *, at: datetime) -> bool:
    """Makes a held answer visible to the agent and queues its callback. Returns False if it was
    released or taken back already."""
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
    if vars(delivery)["callback_webhook"]:  # not decrypted: a poll must not need its key
        outbox.queue(held)
    signals.released.send(sender=Response, response=held)
    return True


def release_due(*, at: datetime) -> int:
    """Releases all answers whose hold is over, and returns how many. An answer that fails is due
    again in a minute, so that failing answers delay no others, however many there are."""
    return sweeps.sweep(
        _due(at),
        partial(release, at=at),
        what="held answers",
        at_once=RELEASE_AT_ONCE,
        locks=("delivery__agent", "delivery", "self"),
        postpone=partial(_postpone, until=at + LOOK_AGAIN_AFTER),
    )


def release_due_of(agent_id: UUID, *, at: datetime) -> int:
    """Does the same for one agent, which reads now and waits for its own lock. An answer that fails
    moves behind those that the agent can get."""
    return sweeps.each(
        _due(at).filter(delivery__agent_id=agent_id)[:RELEASE_AT_ONCE],
        partial(release, at=at),
        what="held answers",
        postpone=lambda response: _postpone(response.pk, until=at),
    )


@transaction.atomic
def take_back(
    delivery: Delivery,
    *,
    by: User,
    only: UUID | None = None,
    place: str = "",
    address: str = "",
    at: datetime,
) -> Draft:
    """Undoes an answer that was not sent yet, or the vote of a person while more are missing, and
    saves it as a draft of the person who gave it. Without one of its votes, an approval waits for
    people again, and so does what a rule approved. `only` names the answer that is meant, so that
    no later one is undone, and `place` where it is undone, for the audit.

    Raises NotAllowed (unless `by` is that person, voted for it, is an owner, or may answer what a
    rule approved), PickedUp, or Response.DoesNotExist, also if retention has erased the answer.
    """
    delivery = Delivery.objects.select_for_update().get(pk=delivery.pk)
    # Locked callback first, then response, as a sender does (wake/callbacks/attempts.py).
    list(Callback.objects.select_for_update().filter(response__delivery=delivery).values_list("pk"))
    responses = Response.objects.filter(delivery__erased_at__isnull=True)
    response = responses.select_for_update(of=("self",)).filter(delivery=delivery).first()
    own = Vote.objects.filter(delivery=delivery, user=by).first()
    if only and (response is None or response.pk != only):
        raise Response.DoesNotExist
    if response is None:
        if own is None or delivery.answered_at is not None or delivery.erased_at is not None:
            raise Response.DoesNotExist
        return _withdraw_vote(delivery, own, by=by, address=address, place=place, at=at)
    is_vote = own is not None and own.is_part_of(response) and may_answer(by, delivery.team_id)
    is_of_rule = response.rule_version_id is not None and may_answer(by, delivery.team_id)
    is_own = response.by_id == by.pk or is_vote or is_of_rule
    if not is_own and not is_owner(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if response.sent_at is not None:
        raise PickedUp(response)
    whose, given = response.by or by, None
    if response.status == Response.Status.APPROVED:
        given = own or Vote.objects.filter(delivery=delivery, user=whose).first()
    if given:
        whose = given.user or by
        Vote.objects.filter(pk=given.pk).delete()
    draft = _save_draft(
        delivery,
        whose,
        feedback=given.feedback if given else response.feedback,
        edited_json=response.edited_json,
        at=at,
    )
    if response.rule_version_id is not None:
        AnsweringRule.objects.filter(versions=response.rule_version_id).lock()
        Trial.objects.filter(delivery=delivery, version=response.rule_version_id).update(
            taken_back_at=at
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
        **({"place": str(place)} if place else {}),
    )
    notify_inbox([delivery])
    signals.taken_back.send(sender=Response, delivery=delivery)
    return draft


def _withdraw_vote(
    delivery: Delivery, own: Vote, *, by: User, address: str, place: str, at: datetime
) -> Draft:
    draft = _save_draft(delivery, by, feedback=own.feedback, edited_json=None, at=at)
    own.delete()
    record(
        "vote.taken_back",
        by=person(by, address),
        of=delivery,
        team=delivery.team_id,
        at=at,
        content_hash=own.content_hash,
        **({"place": str(place)} if place else {}),
    )
    notify_inbox([delivery])
    return draft


def _save_draft(
    delivery: Delivery, user: User, *, feedback: str, edited_json: str | None, at: datetime
) -> Draft:
    draft, _ = Draft.objects.update_or_create(
        delivery=delivery,
        user=user,
        defaults={"feedback": feedback, "edited_json": edited_json, "saved_at": at},
    )
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


def _due(at: datetime) -> ResponseQuerySet:
    due = Response.objects.due(at).select_related("delivery__agent").order_by("release_at")
    return due.defer("delivery__details_json", "feedback", "edited_json")


def _postpone(pk: UUID, *, until: datetime) -> None:
    Response.objects.held().filter(pk=pk).update(release_at=until)


def _lock_agent(agent_id: Any) -> None:
    Agent.objects.select_for_update().only("pk").get(pk=agent_id)
