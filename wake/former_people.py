"""Replaces the name of a person whose account is removed. Their decisions stay."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.dispatch import receiver

from accounts.models import User
from accounts.people.signals import person_removed
from wake import signals
from wake.models import (
    AnsweringRule,
    AnsweringVersion,
    AssignedPerson,
    Callback,
    CallbackAttempt,
    Delivery,
    Failure,
    Receipt,
    Response,
    RuleVersion,
    Vote,
)
from wake.proof.receipts import without_signatures, without_votes_of


def names_of(user: User) -> set[str]:
    """Returns the names under which answers, votes and assignments know the person. The person may
    have changed their name."""
    names = {user.display_name}
    names |= set(Response.objects.filter(by=user).values_list("by_name", flat=True).distinct())
    names |= set(Vote.objects.filter(user=user).values_list("name", flat=True).distinct())
    people = AssignedPerson.objects.filter(user=user)
    return names | set(people.values_list("name", flat=True).distinct())


@receiver(person_removed, dispatch_uid="wake.former_people.replace_name")
def replace_name(user: User, *, names: Collection[str], by: str, **_: Any) -> None:
    """Writes `by` in place of the person, in a transaction that deletes them. Some rows store only
    a name. `names` are the person's names that no other person has. Other packages replace the name
    in their own rows.

    Locks in the order of docs/architecture.md: deliveries, callbacks, responses, receipts."""
    Delivery.objects.filter(acknowledged_by__in=names).update(acknowledged_by=by)
    Failure.objects.filter(acknowledged_by__in=names).update(acknowledged_by=by)
    Callback.objects.filter(asked_by_name__in=names).update(asked_by_name=by)
    CallbackAttempt.objects.filter(by_name__in=names).update(by_name=by)
    _replace_in_quorums(user, by=by)
    signatures = _signatures_of(user)
    Response.objects.filter(by=user).update(by_name=by, signature_json="")
    # After the responses are locked, because a receipt is made while its response is locked.
    Receipt.objects.filter(response__by=user).update(person_disclosure="")
    _erase_signatures(user, signatures)
    Vote.objects.filter(user=user).update(name=by, signature_json="")
    AssignedPerson.objects.filter(user=user).update(name=by)
    AssignedPerson.objects.filter(deputy_for__in=names).update(deputy_for=by)
    RuleVersion.objects.filter(created_by__in=names).update(created_by=by)
    AnsweringVersion.objects.filter(created_by__in=names).update(created_by=by)
    AnsweringRule.objects.filter(on_by__in=names).update(on_by=by)
    signals.person_removed.send(sender=User, user=user, names=names, by=by)


def _signatures_of(user: User) -> set[str]:
    """Returns the signatures of the person's passkeys, in base64url."""
    answers = Response.objects.filter(by=user).exclude(signature_json="")
    votes = Vote.objects.filter(user=user).exclude(signature_json="")
    texts = [row.signature_json for rows in (answers, votes) for row in rows.only("signature_json")]
    return {json.loads(text)["signature"] for text in texts}


def _erase_signatures(user: User, signatures: Collection[str]) -> None:
    """Erases the person's signatures from receipts. Those of others stay."""
    theirs = Q(response__by=user) | Q(response__delivery__votes__user=user)
    signed = Receipt.objects.exclude(signature_disclosures="").filter(theirs).distinct()
    for receipt in signed.only("signature_disclosures").order_by("pk"):
        rest = without_signatures(receipt.signature_disclosures, signatures)
        receipt.signature_disclosures = rest
        receipt.save(update_fields=["signature_disclosures"])


def _replace_in_quorums(user: User, *, by: str) -> None:
    """Replaces the name in the votes that agents receive. Two people may have the same name, so the
    time must also match the person's own entry."""
    votes = {vote.delivery_id: vote for vote in Vote.objects.filter(user=user)}
    theirs = Q(delivery__in=votes) | Q(by=user)
    responses = Response.objects.exclude(quorum_json="").filter(theirs)
    columns = ("delivery", "by", "by_name", "answered_at", "quorum_json")
    given_in: dict[UUID, set[tuple[str, str]]] = {}
    for response in responses.only(*columns).order_by("pk"):
        given = given_in[response.pk] = set()
        if vote := votes.get(response.delivery_id):
            given.add((vote.name, vote.voted_at.isoformat()))
        if response.by_id == user.pk:
            given.add((response.by_name, response.answered_at.isoformat()))
        response.quorum_json = _with_name(response.quorum_json, given, by=by)
        response.save(update_fields=["quorum_json"])
    receipts = Receipt.objects.filter(response__in=given_in)
    for receipt in receipts.only("response", "vote_disclosures").order_by("pk"):
        given = given_in[receipt.response_id]
        receipt.vote_disclosures = without_votes_of(receipt.vote_disclosures, given)
        receipt.save(update_fields=["vote_disclosures"])


def _with_name(quorum_json: str, given: Collection[tuple[str, str]], *, by: str) -> str:
    quorum = json.loads(quorum_json)
    for decision in quorum["decisions"]:
        if (decision["by"], decision["at"]) in given:
            decision["by"] = by
    return json.dumps(quorum)
