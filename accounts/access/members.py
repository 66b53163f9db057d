"""Changes, removes and promotes the members of a team.

Each verb locks the team's row. So if two owners leave at the same moment, the second one is refused
and stays.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.audit import Actor, event_of, record, record_many
from accounts.models import ApiKey, AuditEvent, Invitation, Membership, Team
from database.clock import database_now


class LastOwner(Exception):
    """A team needs an owner: make another member an owner first."""


class NoLongerMember(Exception):
    """That person is no longer in the team."""


class NoLongerOwner(PermissionDenied):
    """You no longer own this team, so nothing was changed."""


class CannotOwn(Exception):
    """Only another member who can sign in can take the team over."""


@transaction.atomic
def change_role(membership: Membership, role: str, *, by: Actor) -> Membership:
    """Changes a member's role. Setting the role that the member already has is not recorded. Raises
    LastOwner, NoLongerMember and NoLongerOwner."""
    member = _held(membership)
    _still_owned(member.team, by)
    before = member.role
    if role == before:
        return member
    _keep_an_owner(member)
    member.role = role
    member.save(update_fields=["role"])
    end_invitations(member.user_id, team_id=member.team_id, by=by)
    _record("membership.changed", member, by=by, before=before, role=role)
    return member


@transaction.atomic
def remove(membership: Membership, *, by: Actor) -> None:
    """Removes a member. The member loses access at their next request. Raises LastOwner,
    NoLongerMember and NoLongerOwner."""
    member = _held(membership)
    _still_owned(member.team, by)
    _keep_an_owner(member)
    _record("membership.removed", member, by=by, role=member.role)
    end_invitations(member.user_id, team_id=member.team_id, by=by)
    _end_clients(member, by=by)
    member.delete()


@transaction.atomic
def leave(membership: Membership, *, by: Actor) -> None:
    """Removes a person from a team at their own request. Raises LastOwner and NoLongerMember."""
    member = _held(membership)
    _keep_an_owner(member)
    _record("membership.left", member, by=by, role=member.role)
    end_invitations(member.user_id, team_id=member.team_id, by=by)
    _end_clients(member, by=by)
    member.delete()


@transaction.atomic
def hand_over(membership: Membership, *, to: Membership, by: Actor) -> None:
    """Makes the other member an owner, and the former owner a reviewer. Raises CannotOwn and
    NoLongerMember."""
    former, heir = _held(membership), _held(to)
    is_other = heir.pk != former.pk and heir.team_id == former.team_id
    if not is_other or not heir.user.is_active or former.role != Membership.Role.OWNER:
        raise CannotOwn(CannotOwn.__doc__)
    before = heir.role
    heir.role, former.role = Membership.Role.OWNER, Membership.Role.REVIEWER
    for member in (heir, former):
        member.save(update_fields=["role"])
    end_invitations(former.user_id, team_id=former.team_id, by=by)
    detail = {"former": former.user.display_name, "former_membership": former.pk}
    _record("team.handed_over", heir, by=by, before=before, **detail)


def end_invitations(person_id: int, *, by: Actor, team_id: int | None = None) -> None:
    """Revokes the invitations that the person sent, to one team or to all. Otherwise these
    invitations would work again as soon as the person owns the team, or can sign in, again."""
    now = database_now()
    unused = Invitation.objects.filter(accepted_at__isnull=True, revoked_at__isnull=True)
    sent = unused.filter(invited_by=person_id)
    if team_id is not None:
        sent = sent.filter(team=team_id)
    record_many("invitation.revoked", by=by, of=list(sent.filter(expires_at__gt=now)), at=now)
    sent.update(revoked_at=now, mail_due_at=None)


def hold(team_id: int) -> Team:
    """Locks the team, so that no one else changes its members until the transaction ends."""
    return Team.objects.select_for_update(no_key=True).get(pk=team_id)


def hold_as_owner(team_id: int, *, by: Actor) -> None:
    """Locks the team, and checks again that `by` owns it. The person may have been removed since
    they opened the page. Raises NoLongerOwner."""
    _still_owned(hold(team_id), by)


def _record(event: str, member: Membership, *, by: Actor, **detail: Any) -> None:
    """Records the event with the id of the person, so that the audit says who had which role, even
    after the membership has ended."""
    record(event, by=by, of=member, team=member.team_id, person=member.user_id, **detail)


def _held(membership: Membership) -> Membership:
    """Locks the team and returns the membership in its present state. Raises NoLongerMember."""
    hold(membership.team_id)
    member = Membership.objects.select_related("user", "team").filter(pk=membership.pk).first()
    if member is None:
        raise NoLongerMember(NoLongerMember.__doc__)
    return member


def _still_owned(team: Team, by: Actor) -> None:
    """Checks under the team's lock that the person still owns it. Actors that are not people, such
    as the operator's commands, need not belong to the team."""
    is_member = team.memberships.filter(user_id=by.id) if by.kind == "person" else None
    if is_member is not None and not is_member.that_own().exists():
        raise NoLongerOwner(NoLongerOwner.__doc__)


def _end_clients(member: Membership, *, by: Actor) -> None:
    """Ends the clients that the member connected to the team's agents. Otherwise these clients
    would work again as soon as the member joins the team again."""
    now = database_now()
    keys = ApiKey.objects.filter(
        agent__team=member.team_id, grant__person=member.user_id, revoked_at__isnull=True
    )
    ended = list(keys.select_related("agent", "grant"))
    ApiKey.objects.filter(pk__in=[key.pk for key in ended]).update(revoked_at=now)
    AuditEvent.objects.bulk_create(
        event_of(
            "client.ended",
            by=by,
            of=key,
            team_id=member.team_id,
            at=now,
            detail={"agent": key.agent.agent_id, "client": key.grant.client_name},
        )
        for key in ended
    )


def _keep_an_owner(member: Membership) -> None:
    others = member.team.memberships.that_own().exclude(pk=member.pk)
    if member.role == Membership.Role.OWNER and not others.exists():
        raise LastOwner(LastOwner.__doc__)
