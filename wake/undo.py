"""Takes back an answer that the agent has not picked up, or a vote while others are missing."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.access.objects import NotAllowed, is_owner, may_answer
from accounts.audit import person, record
from accounts.models import User
from wake import signals
from wake.models import AnsweringRule, Callback, Delivery, Draft, Failure, Response, Trial, Vote
from wake.signals import notify_inbox


class PickedUp(Exception):
    """The answer was sent to the agent and cannot be taken back."""

    def __init__(self, response: Response) -> None:
        super().__init__(PickedUp.__doc__)
        self.response = response


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
    """Undoes an answer that was not sent yet, or a person's vote while other votes are missing.
    Saves the answer or vote as that person's draft. An approval that loses a vote waits for people
    again, like an undone approval of a rule. `only` names the intended answer, so that no later one
    is undone. `place` says where the person undid the answer, for the audit.

    Raises NotAllowed unless `by` gave the answer, voted for it or is an owner. If a rule approved
    the delivery, `by` may also be a person who may answer it. Raises PickedUp. Raises
    Response.DoesNotExist, also if retention has erased the answer.
    """
    delivery = Delivery.objects.select_for_update().get(pk=delivery.pk)
    # The callback is locked first, then the response, as a sender does
    # (wake/callbacks/attempts.py).
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
    is_vote = own is not None and response.is_of_votes and may_answer(by, delivery.team_id)
    is_of_rule = response.rule_version_id is not None and may_answer(by, delivery.team_id)
    is_own = response.by_id == by.pk or is_vote or is_of_rule
    if not is_own and not is_owner(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if response.sent_at is not None:
        raise PickedUp(response)
    whose, given = response.by or by, None
    if response.is_of_votes:
        given = own or Vote.objects.filter(delivery=delivery, user=whose).first()
    if given:
        whose = given.user or by
        Vote.objects.filter(pk=given.pk).delete()
    draft = Draft.objects.keep(
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
    # A failure is listed only as long as the approval of the failed action exists.
    Failure.objects.filter(delivery=delivery).delete()
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
    draft = Draft.objects.keep(delivery, by, feedback=own.feedback, edited_json=None, at=at)
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
