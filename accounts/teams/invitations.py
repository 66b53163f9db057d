"""Invites people into a team, by a link that works once within seven days, and lets them in."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from accounts import keys, members
from accounts.audit import Actor, person, record
from accounts.models import Invitation, Membership, Team, User

PREFIX = "wk_join_"
TEXT = re.compile(rf"{PREFIX}[0-9A-Za-z]{{36}}", re.ASCII)
OPEN_FOR = timedelta(days=7)
KEPT_FOR = timedelta(days=30)
JUST_NOW = timedelta(minutes=10)
MOST_OPEN = 50


class TooManyInvitations(Exception):
    """50 invitations of this team are open: revoke some, or wait until they are used."""


class InvitationEnded(Exception):
    """This invitation no longer works: it was used or taken back, or is too old."""


class AlreadyMember(Exception):
    """You belong to this team already."""


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
    """The row and the text of its link, which is never to be had again; of one that is mailed, the
    worker makes another, which nobody but the reader of that mail has. Raises NotAnOwner and
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
    """One that says the same, and is so new that its form probably came twice."""
    same = team.invitations.open(at).filter(role=role, email=email.strip().lower(), invited_by=by)
    return same.filter(created_at__gt=at - JUST_NOW).first()


@transaction.atomic
def revoke(invitation: Invitation, *, by: Actor, at: datetime) -> None:
    """At once; one that was used or revoked already stays as it is."""
    unused = Invitation.objects.filter(accepted_at__isnull=True, revoked_at__isnull=True)
    if unused.filter(pk=invitation.pk).update(revoked_at=at):
        record("invitation.revoked", by=by, of=invitation, team=invitation.team_id, at=at)


def find(text: str, *, at: datetime) -> Invitation | None:
    """The open one of this link; without a query where the text fails its own checksum."""
    if not _is_whole(text):
        return None
    found = Invitation.objects.open(at).filter(digest=keys.digest_of(text))
    return found.select_related("team", "invited_by").first()


def joined_by(user: User, text: str) -> Team | None:
    """Which team this person came into by that link."""
    if not _is_whole(text):
        return None
    digest = keys.digest_of(text)
    return Team.objects.filter(
        invitations__digest=digest, invitations__accepted_by=user, memberships__user=user
    ).first()


@transaction.atomic
def accept(invitation: Invitation, *, by: User, at: datetime, address: str = "") -> Membership:
    """Raises InvitationEnded, and AlreadyMember, which leaves the link to somebody else."""
    members.hold(invitation.team_id)
    if Membership.objects.filter(team=invitation.team_id, user=by).exists():
        raise AlreadyMember(AlreadyMember.__doc__)
    open_still = Invitation.objects.open(at).filter(pk=invitation.pk)
    if not open_still.update(accepted_at=at, accepted_by=by, mail_due_at=None):
        raise InvitationEnded(InvitationEnded.__doc__)
    made = Membership.objects.create(team=invitation.team, user=by, role=invitation.role)
    record(
        "membership.joined",
        by=person(by, address),
        of=made,
        team=invitation.team_id,
        at=at,
        role=made.role,
        invited_by=invitation.invited_by.display_name,
    )
    return made


@transaction.atomic
def sign_up(
    invitation: Invitation,
    *,
    email: str,
    display_name: str,
    password: str,
    at: datetime,
    address: str = "",
) -> None:
    """A new person, in the team. Of an address that somebody has nothing is kept and nothing is
    said, after a password was hashed as for any other: they sign in, and accept. Raises
    InvitationEnded."""
    members.hold(invitation.team_id)
    if not Invitation.objects.open(at).filter(pk=invitation.pk).exists():
        raise InvitationEnded(InvitationEnded.__doc__)
    try:
        with transaction.atomic():
            user = User.objects.create_user(email, password, display_name=display_name)
    except IntegrityError:
        return
    record("person.added", by=person(user, address), of=user, team=None)
    accept(invitation, by=user, at=at, address=address)


@transaction.atomic
def claim_mail(*, lease: timedelta, at: datetime) -> tuple[Invitation, str] | None:
    """One that is to be mailed, for this caller alone until the lease runs out, and the text of a
    new link: one that an earlier try may have mailed stops."""
    due = Invitation.objects.to_be_mailed(at).select_related("team", "invited_by")
    row = due.select_for_update(skip_locked=True, of=("self",)).first()
    if row is None:
        return None
    text = keys.new_text(PREFIX)
    row.digest, row.mail_due_at = keys.digest_of(text), at + lease
    row.save(update_fields=["digest", "mail_due_at"])
    return row, text


def settle_mail(invitation: Invitation, *, mailed_at: datetime | None) -> None:
    """None: the mail server did not take it, and it is not tried again."""
    Invitation.objects.filter(pk=invitation.pk).update(mail_due_at=None, mailed_at=mailed_at)


def forget_old(*, at: datetime) -> None:
    """They hold addresses of people who may never have come."""
    Invitation.objects.filter(expires_at__lt=at - KEPT_FOR).delete()


def _is_whole(text: str) -> bool:
    return bool(TEXT.fullmatch(text)) and keys.is_whole(text)
