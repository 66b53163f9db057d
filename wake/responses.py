"""Stores a person's answer, holds it for a while, and then releases it to the agent."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.access.objects import NotAllowed, may_answer
from accounts.audit import Actor, person, record
from accounts.models import Agent, Passkey, User
from accounts.sign_in.browsers.sessions import UNKNOWN as SIGN_IN_UNKNOWN
from accounts.sign_in.browsers.sessions import Authentication
from database import sweeps
from wake import signals
from wake.assignment.taking import check_may_answer
from wake.assignment.votes import Quorum, quorum_of, vote, without_vote_of
from wake.callbacks import outbox
from wake.models import (
    AnsweringRule,
    AnsweringVersion,
    Delivery,
    Draft,
    Place,
    Response,
    Vote,
)
from wake.models.cursor import stamp_activity
from wake.models.responses import ResponseQuerySet
from wake.models.sights import BY_RULE, UNKNOWN, Sight
from wake.proof.signatures import Signature, Statement, statement_of
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


class NeedsPasskey(Exception):
    """Approving this needs your passkey. Open it in Wake."""


class EditNotWanted(Exception):
    """Only a redirect can have edited content."""


class BadEdit(Exception):
    """Edited content must be a JSON object or a text."""


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
    signed_in: Authentication = SIGN_IN_UNKNOWN,
    signature: Signature | None = None,
    address: str = "",
    at: datetime,
) -> Response | Vote:
    """Stores the answer and holds it (docs/protocol.md, Answering). If the same person sends the
    same answer again, returns the stored one. `edited_json` is the JSON text of an object or a
    string. If more people have to approve, returns the person's vote. A replaced delivery takes an
    answer from a person who knows of the replacement (`knows_replaced`). `sight` says where the
    answer was given, and whether everything was in sight there; `signed_in` says how the person
    was signed in. `signature` is the checked signature of their passkey, if they signed the answer.

    Raises NotAllowed (or its subclass NotAssigned), AlreadyAnswered, ContentChanged (or its
    subclasses ContentErased, Withdrawn and Replaced), NothingToSend, EditNotWanted or BadEdit.
    Raises NeedsPasskey if nothing else is wrong.
    """
    if not may_answer(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    feedback = feedback.strip()
    _check(status, feedback, edited_json)
    if not settings.WAKE_HOLD_SECONDS:
        _lock_agent(delivery.agent_id)  # the answer is released below, so the agent is locked first
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
    signature_json = ""
    if signature is not None:
        statement = statement_of(
            delivery,
            status=status,
            feedback=feedback,
            edited_json=edited_json,
            random=signature.random,
        )
        _check_signature(signature, statement, by=by)
        signature_json = signature.as_json()
        sight = replace(sight, place=Place.PASSKEY)
    elif delivery.must_be_signed:
        _check_unsigned(status, sight)
    quorum = quorum_of(delivery)
    if quorum and status != Response.Status.APPROVED:
        quorum = without_vote_of(by, quorum, delivery=delivery)
    elif quorum:
        is_new = vote(
            delivery,
            by=by,
            feedback=feedback,
            sight=sight,
            signed_in=signed_in,
            signature_json=signature_json,
            at=at,
        )
        quorum = quorum_of(delivery) or quorum
        if quorum.missing:
            if is_new:
                Draft.objects.filter(delivery=delivery, user=by).delete()
                facts = {**sight.in_audit(), **signed_in.in_audit()}
                _record_vote(delivery, quorum, by=person(by, address), facts=facts, at=at)
            return Vote.objects.get(delivery=delivery, user=by)
        feedback, signature_json = quorum.feedback, ""
    Draft.objects.filter(delivery=delivery, user=by).delete()
    if status != Response.Status.APPROVED:
        # From this commit on, no rule approves a similar delivery (wake/answering/refusals.py).
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
            amr=" ".join(signed_in.methods),
            auth_time=signed_in.at,
            signature_json=signature_json,
            answered_at=at,
        ),
        by=person(by, address),
        sight=sight,
        **signed_in.in_audit(),
    )


def approve_by_rule(delivery: Delivery, version: AnsweringVersion, *, at: datetime) -> Response:
    """Approves a waiting delivery on behalf of a rule of its team. Holds the answer, or releases it
    if the server holds none. The caller has locked the agent and the delivery."""
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
    response.left_out, response.opened_at = sight.left_out_text, sight.opened_at
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
    delivery: Delivery, quorum: Quorum, *, by: Actor, facts: dict[str, Any], at: datetime
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
        **facts,
    )
    notify_inbox([delivery])


def _is_same(
    earlier: Response, by: User, status: str, feedback: str, edited_json: str | None
) -> bool:
    """Returns whether this person has already given exactly this answer. A response that several
    votes made has the words of all voters."""
    if (earlier.by_id, earlier.status, earlier.edited_json) != (by.pk, status, edited_json):
        return False
    votes = Vote.objects.filter(delivery=earlier.delivery_id, user=by)
    own = votes.first() if earlier.is_of_votes else None
    return feedback == (own.feedback if own else earlier.feedback)


@transaction.atomic
def release(response: Response, *, at: datetime) -> bool:
    """Makes a held answer visible to the agent and queues its callback. Returns False if the answer
    was already released or taken back."""
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
    # The address is still encrypted here, because a poll must not need the encryption key.
    if vars(delivery)["callback_webhook"]:
        outbox.queue(held)
    signals.released.send(sender=Response, response=held)
    return True


def release_due(*, at: datetime, at_once: int = RELEASE_AT_ONCE) -> int:
    """Releases all answers whose hold is over, and returns how many. An answer that fails is due
    again in a minute, so that failing answers do not delay others, however many there are."""
    return sweeps.sweep(
        _due(at),
        partial(release, at=at),
        what="held answers",
        at_once=at_once,
        locks=("delivery__agent", "delivery", "self"),
        postpone=partial(_postpone, until=at + LOOK_AGAIN_AFTER),
    )


def release_due_of(agent_id: UUID, *, at: datetime, at_once: int = RELEASE_AT_ONCE) -> int:
    """Releases the due answers of one agent, which reads its answers now. The read waits for the
    agent's lock. An answer that fails moves behind the answers that the agent can get."""
    return sweeps.each(
        _due(at).filter(delivery__agent_id=agent_id)[:at_once],
        partial(release, at=at),
        what="held answers",
        postpone=lambda response: _postpone(response.pk, until=at),
    )


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


def _check_signature(signature: Signature, statement: Statement, *, by: User) -> None:
    """Raises NeedsPasskey if the person signed something else, or if their passkey was removed
    since."""
    still_theirs = Passkey.objects.filter(pk=signature.passkey, user=by)
    if signature.statement != statement or not still_theirs.exists():
        raise NeedsPasskey(NeedsPasskey.__doc__)


def _check_unsigned(status: str, sight: Sight) -> None:
    """Raises NeedsPasskey unless a person rejects the delivery on its page. A rejection only stops
    the agent, so it must stay possible without a passkey."""
    is_on_page = sight.place in {"", Place.PAGE}
    if status != Response.Status.REJECTED or not is_on_page:
        raise NeedsPasskey(NeedsPasskey.__doc__)


def _due(at: datetime) -> ResponseQuerySet:
    due = Response.objects.due(at).select_related("delivery__agent").order_by("release_at")
    return due.defer("delivery__details_json", "feedback", "edited_json", "signature_json")


def _postpone(pk: UUID, *, until: datetime) -> None:
    Response.objects.held().filter(pk=pk).update(release_at=until)


def _lock_agent(agent_id: Any) -> None:
    Agent.objects.select_for_update().only("pk").get(pk=agent_id)
