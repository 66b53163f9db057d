"""Deactivates people who leave the company, and lets them sign in again.

A deactivated person keeps their memberships, so the history stays complete, and so that they have
their roles again if they come back. Everything that acted in their name ends permanently.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from accounts.access import members
from accounts.audit import Actor, record, record_many
from accounts.models import DeviceSignIn, Membership, OAuthGrant, Team, User
from accounts.oauth import grants
from accounts.people import signals


@transaction.atomic
def deactivate(user: User, *, by: Actor, at: datetime) -> list[Team]:
    """Ends the person's sessions, clients, invitations and channels. The person is not assigned
    anything any more. Returns the teams that are left without an owner who can sign in. Changes
    nothing for a person who is deactivated already."""
    held = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not held.is_active:
        return []
    # A trigger locks the person's teams (docs/decisions/0064-deliveries-share-their-assignment.md).
    User.objects.filter(pk=user.pk).update(is_active=False, session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["is_active", "session_epoch"])
    DeviceSignIn.objects.filter(person=user).delete()
    members.end_invitations(user.pk, by=by)
    grants.end_all(list(OAuthGrant.objects.of_person(user).open(at)), by=by, at=at)
    alone = _without_owner(user)
    names = {"teams_without_owner": [team.slug for team in alone]} if alone else {}
    _record("deactivated", user, by=by, at=at, **names)
    signals.person_deactivated.send(sender=User, user=user, at=at)
    return alone


@transaction.atomic
def reactivate(user: User, *, by: Actor, at: datetime) -> bool:
    """Lets the person sign in again, with the roles that they had. Their sessions, clients and
    invitations do not come back. Returns False for a person who can sign in already."""
    held = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if held.is_active:
        return False
    User.objects.filter(pk=user.pk).update(is_active=True)
    user.refresh_from_db(fields=["is_active"])
    _record("reactivated", user, by=by, at=at)
    return True


def _without_owner(user: User) -> list[Team]:
    owned = Team.objects.filter(memberships__user=user, memberships__role=Membership.Role.OWNER)
    others = Membership.objects.that_own().values("team")
    return list(owned.exclude(pk__in=others).order_by("slug"))


def _record(happened: str, user: User, *, by: Actor, at: datetime, **detail: list[str]) -> None:
    """Records the event of the person, and one for each of their teams, because a team sees only
    its own events."""
    record(f"person.{happened}", by=by, of=user, team=None, at=at, **detail)
    memberships = Membership.objects.filter(user=user).select_related("user", "team")
    rows = list(memberships.order_by("team"))
    record_many(f"membership.{happened}", by=by, of=rows, at=at, person=user.pk)
