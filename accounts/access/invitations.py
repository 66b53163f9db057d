"""Invites people into a team by a link that works once within seven days."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.db import transaction

from accounts.access import members
from accounts.access.key_texts import digest_of, is_whole, new_text
from accounts.audit import Actor, person, record
from accounts.models import Invitation, Membership, Team, User

PREFIX = "wk_join_"
TEXT = re.compile(rf"{PREFIX}[0-9A-Za-z]{{36}}", re.ASCII)
OPEN_FOR = timedelta(days=7)
KEPT_FOR = timedelta(days=30)
JUST_NOW = timedelta(minutes=10)
MAX_OPEN = 50


class TooManyInvitations(Exception):
    """50 invitations of this team are open: revoke some, or wait until they are used."""


class InvitationEnded(Exception):
    """This invitation no longer works: it was used, was revoked or has expired."""


class AlreadyMember(Exception):
    """You're already in this team."""


class NotAnOwner(Exception):
    """Only owners of the team invite others."""


@transaction.atomic
def invite(
    team: Team,
    *,
    role: str,
    by: User,
    at: datetime,
    email: str = "",
    is_mailed: bool = False,
    address: str = "",
) -> tuple[Invitation, str]:
    """Creates an invitation; returns it with the text of its link. The text cannot be shown again.
    If the invitation is mailed, the worker creates a new link, and only the mail contains that
    link. Raises NotAnOwner and TooManyInvitations."""
    members.hold(team.pk)
    if not team.memberships.that_own().filter(user=by).exists():
        raise NotAnOwner(NotAnOwner.__doc__)
    if team.invitations.open(at).count() >= MAX_OPEN:
        raise TooManyInvitations(TooManyInvitations.__doc__)
    text = new_text(PREFIX)
    invitation = Invitation.objects.create(
        team=team,
        role=role,
        email=email.strip().lower(),
        digest=digest_of(text),
        invited_by=by,
        created_at=at,
        expires_at=at + OPEN_FOR,
        mail_due_at=at if is_mailed else None,
    )
    actor = person(by, address)
    record("invitation.made", by=actor, of=invitation, team=team, at=at, role=role)
    return invitation, text


def made_just_now(
    team: Team, *, role: str, email: str, by: User, at: datetime
) -> Invitation | None:
    """Returns an earlier invitation with the same values if it is so new that the form was probably
    sent twice."""
    same = team.invitations.open(at).filter(role=role, email=email.strip().lower(), invited_by=by)
    return same.filter(created_at__gt=at - JUST_NOW).first()


@transaction.atomic
def revoke(invitation: Invitation, *, by: Actor, at: datetime) -> None:
    """Revokes an invitation immediately, unless it was already used or revoked."""
    unused = Invitation.objects.filter(accepted_at__isnull=True, revoked_at__isnull=True)
    if unused.filter(pk=invitation.pk).update(revoked_at=at):
        record("invitation.revoked", by=by, of=invitation, team=invitation.team_id, at=at)


def find(text: str, *, at: datetime) -> Invitation | None:
    """Returns the open invitation of this link. A text with a wrong checksum needs no query."""
    if not _is_whole(text):
        return None
    invitations = Invitation.objects.open(at).filter(digest=digest_of(text))
    return invitations.select_related("team", "invited_by").first()


def joined_by(user: User, text: str) -> Team | None:
    """Returns the team that this person joined by that link."""
    if not _is_whole(text):
        return None
    digest = digest_of(text)
    return Team.objects.filter(
        invitations__digest=digest, invitations__accepted_by=user, memberships__user=user
    ).first()


@transaction.atomic
def accept(invitation: Invitation, *, by: User, at: datetime, address: str = "") -> Membership:
    """Adds the person to the team. Raises InvitationEnded. Raises AlreadyMember, and the link can
    then still be used."""
    members.hold(invitation.team_id)
    if Membership.objects.filter(team=invitation.team_id, user=by).exists():
        raise AlreadyMember(AlreadyMember.__doc__)
    open_still = Invitation.objects.open(at).filter(pk=invitation.pk)
    if not open_still.update(accepted_at=at, accepted_by=by, mail_due_at=None):
        raise InvitationEnded(InvitationEnded.__doc__)
    membership = Membership.objects.create(team=invitation.team, user=by, role=invitation.role)
    record(
        "membership.joined",
        by=person(by, address),
        of=membership,
        team=invitation.team_id,
        at=at,
        role=membership.role,
        invited_by=invitation.invited_by.display_name,
    )
    return membership


def renew_link(invitation: Invitation) -> str:
    """Returns the text of a new link. A link that an earlier try may have mailed stops working."""
    text = new_text(PREFIX)
    invitation.digest = digest_of(text)
    Invitation.objects.filter(pk=invitation.pk).update(digest=invitation.digest)
    return text


def settle_mail(invitation: Invitation, *, mailed_at: datetime | None) -> None:
    """Stores when the mail was sent, or None if the mail server refused it. A refused mail is not
    tried again."""
    Invitation.objects.filter(pk=invitation.pk).update(mail_due_at=None, mailed_at=mailed_at)


def forget_old(*, at: datetime) -> None:
    """Deletes old invitations, because they have addresses of people who may never have joined."""
    Invitation.objects.filter(expires_at__lt=at - KEPT_FOR).delete()


def _is_whole(text: str) -> bool:
    return bool(TEXT.fullmatch(text)) and is_whole(text)
