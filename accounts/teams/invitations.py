"""Invites people into a team by a link that works once within seven days."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from accounts.agents import keys
from accounts.audit import Actor, person, record
from accounts.models import Invitation, Membership, Team, User
from accounts.people import members
from accounts.sign_in import address_changes

PREFIX = "wk_join_"
TEXT = re.compile(rf"{PREFIX}[0-9A-Za-z]{{36}}", re.ASCII)
OPEN_FOR = timedelta(days=7)
KEPT_FOR = timedelta(days=30)
JUST_NOW = timedelta(minutes=10)
MOST_OPEN = 50


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
    """Creates an invitation; returns it with the text of its link, which cannot be shown again. If
    it is mailed, the worker makes another link, which only the mail has. Raises NotAnOwner and
    TooManyInvitations."""
    members.hold(team.pk)
    if not team.memberships.that_own().filter(user=by).exists():
        raise NotAnOwner(NotAnOwner.__doc__)
    if team.invitations.open(at).count() >= MOST_OPEN:
        raise TooManyInvitations(TooManyInvitations.__doc__)
    text = keys.new_text(PREFIX)
    invitation = Invitation.objects.create(
        team=team,
        role=role,
        email=email.strip().lower(),
        digest=keys.digest_of(text),
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
    """Returns an equal invitation that is so new that its form was probably sent twice."""
    same = team.invitations.open(at).filter(role=role, email=email.strip().lower(), invited_by=by)
    return same.filter(created_at__gt=at - JUST_NOW).first()


@transaction.atomic
def revoke(invitation: Invitation, *, by: Actor, at: datetime) -> None:
    """Revokes an invitation at once, unless it was used or revoked already."""
    unused = Invitation.objects.filter(accepted_at__isnull=True, revoked_at__isnull=True)
    if unused.filter(pk=invitation.pk).update(revoked_at=at):
        record("invitation.revoked", by=by, of=invitation, team=invitation.team_id, at=at)


def find(text: str, *, at: datetime) -> Invitation | None:
    """Returns the open invitation of this link. A text that fails its own checksum takes no
    query."""
    if not _is_whole(text):
        return None
    invitations = Invitation.objects.open(at).filter(digest=keys.digest_of(text))
    return invitations.select_related("team", "invited_by").first()


def joined_by(user: User, text: str) -> Team | None:
    """Returns the team that this person joined by that link."""
    if not _is_whole(text):
        return None
    digest = keys.digest_of(text)
    return Team.objects.filter(
        invitations__digest=digest, invitations__accepted_by=user, memberships__user=user
    ).first()


@transaction.atomic
def accept(invitation: Invitation, *, by: User, at: datetime, address: str = "") -> Membership:
    """Adds the person to the team. Raises InvitationEnded, and AlreadyMember, which leaves the link
    unused."""
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


@transaction.atomic
def sign_up(
    invitation: Invitation,
    *,
    email: str,
    display_name: str,
    password: str,
    at: datetime,
    address: str = "",
) -> User | None:
    """Creates a person in the team and returns them. Raises InvitationEnded.

    If the e-mail address is known already, or is kept for the person who had it last week, nothing
    is stored, and None is returned; a password is hashed all the same, so that all take the same
    time. That person signs in and accepts.
    """
    members.hold(invitation.team_id)
    if not Invitation.objects.open(at).filter(pk=invitation.pk).exists():
        raise InvitationEnded(InvitationEnded.__doc__)
    try:
        with transaction.atomic():
            user = User.objects.create_user(email, password, display_name=display_name)
            # After the insert, which waits for a change of address that is not committed yet.
            if address_changes.may_be_restored(user.email, at=at):
                transaction.set_rollback(True)
                return None
    except IntegrityError:
        return None
    record("person.added", by=person(user, address), of=user, team=None)
    accept(invitation, by=user, at=at, address=address)
    return user


@transaction.atomic
def claim_mail(*, lease: timedelta, at: datetime) -> tuple[Invitation, str] | None:
    """Claims an invitation to be mailed until the lease ends; returns it with the text of a new
    link. A link that an earlier try may have mailed stops working."""
    due = Invitation.objects.to_be_mailed(at).select_related("team", "invited_by")
    row = due.select_for_update(skip_locked=True, of=("self",)).first()
    if row is None:
        return None
    text = keys.new_text(PREFIX)
    row.digest, row.mail_due_at = keys.digest_of(text), at + lease
    row.save(update_fields=["digest", "mail_due_at"])
    return row, text


def settle_mail(invitation: Invitation, *, mailed_at: datetime | None) -> None:
    """Stores when it was mailed, or None if the mail server refused it; it is not tried again."""
    Invitation.objects.filter(pk=invitation.pk).update(mail_due_at=None, mailed_at=mailed_at)


def forget_old(*, at: datetime) -> None:
    """Deletes old invitations, because they have addresses of people who may never have joined."""
    Invitation.objects.filter(expires_at__lt=at - KEPT_FOR).delete()


def _is_whole(text: str) -> bool:
    return bool(TEXT.fullmatch(text)) and keys.is_whole(text)
