"""Replaces the name of a person whose account is removed, and keeps what they decided."""

from __future__ import annotations

import json
from collections.abc import Collection

from django.db.models import Q

from accounts.models import User
from wake import signals
from wake.models import (
    AnsweringRule,
    AnsweringVersion,
    AssignedPerson,
    Callback,
    CallbackAttempt,
    Delivery,
    Response,
    RuleVersion,
    Vote,
)


def names_of(user: User) -> set[str]:
    """Returns the names under which answers, votes and assignments know the person: they may have
    changed it."""
    names = {user.display_name}
    names |= set(Response.objects.filter(by=user).values_list("by_name", flat=True).distinct())
    names |= set(Vote.objects.filter(user=user).values_list("name", flat=True).distinct())
    people = AssignedPerson.objects.filter(user=user)
    return names | set(people.values_list("name", flat=True).distinct())


def replace_name(user: User, *, names: Collection[str], by: str) -> None:
    """Writes `by` for the person in a transaction that deletes them. Some rows store a name and no
    more, and `names` are those that no other person has. Other packages do the same for theirs.

    Locks in the order of docs/architecture.md: deliveries, callbacks, responses."""
    Delivery.objects.filter(acknowledged_by__in=names).update(acknowledged_by=by)
    Callback.objects.filter(asked_by_name__in=names).update(asked_by_name=by)
    CallbackAttempt.objects.filter(by_name__in=names).update(by_name=by)
    _replace_in_quorums(user, by=by)
    Response.objects.filter(by=user).update(by_name=by)
    Vote.objects.filter(user=user).update(name=by)
    AssignedPerson.objects.filter(user=user).update(name=by)
    AssignedPerson.objects.filter(deputy_for__in=names).update(deputy_for=by)
    RuleVersion.objects.filter(created_by__in=names).update(created_by=by)
    AnsweringVersion.objects.filter(created_by__in=names).update(created_by=by)
    AnsweringRule.objects.filter(on_by__in=names).update(on_by=by)
    signals.person_removed.send(sender=User, user=user, names=names, by=by)


def _replace_in_quorums(user: User, *, by: str) -> None:
    """Replaces the name in what agents are told of votes. Two people may have the same name, so the
    time says which entry is theirs, too."""
    votes = {vote.delivery_id: vote for vote in Vote.objects.filter(user=user)}
    theirs = Q(delivery__in=votes) | Q(by=user)
    responses = Response.objects.exclude(quorum_json="").filter(theirs)
    columns = ("delivery", "by", "by_name", "answered_at", "quorum_json")
    for response in responses.only(*columns).order_by("pk"):
        given = set()
        if vote := votes.get(response.delivery_id):
            given.add((vote.name, vote.voted_at.isoformat()))
        if response.by_id == user.pk:
            given.add((response.by_name, response.answered_at.isoformat()))
        response.quorum_json = _with_name(response.quorum_json, given, by=by)
        response.save(update_fields=["quorum_json"])


def _with_name(quorum_json: str, given: Collection[tuple[str, str]], *, by: str) -> str:
    quorum = json.loads(quorum_json)
    for decision in quorum["decisions"]:
        if (decision["by"], decision["at"]) in given:
            decision["by"] = by
    return json.dumps(quorum)
