"""Ends all memberships of a person, and deletes their account."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from accounts.access import members
from accounts.audit import Actor
from accounts.models import ApiKey, Gate, Invitation, Membership, ResetRequest, User


class OwnsAlone(Exception):
    """The person is the only owner of a team, which needs one."""

    def __init__(self, teams: Collection[str]) -> None:
        names = ", ".join(teams)
        super().__init__(
            f"{names}: a team needs an owner who can sign in. Make another member an owner first."
        )


def end_memberships(user: User, *, by: Actor) -> None:
    """Removes the person from each team. Raises OwnsAlone, which names all teams that have no other
    owner."""
    alone = []
    memberships = Membership.objects.filter(user=user).select_related("team")
    for membership in memberships.order_by("team"):
        try:
            members.leave(membership, by=by)
        except members.LastOwner:
            alone.append(membership.team.name)
        except members.NoLongerMember:
            continue
    if alone:
        raise OwnsAlone(alone)


def delete_account(
    user: User, *, names: Collection[str], known_as: str, by: Actor, at: datetime
) -> None:
    """Deletes the person and all rows that belong only to them. Rows that belong to other people
    name the person `known_as`."""
    for keys in (ApiKey, Gate):
        keys.objects.filter(issued_by__in=names).update(issued_by=known_as)
    of_people = ContentType.objects.get_for_model(User)
    entries = LogEntry.objects.filter(content_type=of_people, object_id=str(user.pk))
    entries.update(object_repr=known_as)
    ResetRequest.objects.filter(email=user.email).delete()
    sent = Invitation.objects.filter(email=user.email)
    sent.filter(accepted_at__isnull=True, revoked_at__isnull=True).update(
        revoked_at=at, mail_due_at=None
    )
    sent.update(email="")
    user.delete()
