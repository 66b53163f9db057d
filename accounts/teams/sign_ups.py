"""Creates people who follow an invitation."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.access import invitations, members
from accounts.audit import person, record
from accounts.models import Invitation, User
from accounts.sign_in.addresses import changes as address_changes


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

    If the e-mail address belongs to a person already, or is reserved for a person who changed it
    within the last week, stores nothing and returns None. A password is still hashed, so that all
    cases take the same time. The owner of a known address signs in and accepts the invitation
    instead.
    """
    members.hold(invitation.team_id)
    if not Invitation.objects.open(at).filter(pk=invitation.pk).exists():
        raise invitations.InvitationEnded(invitations.InvitationEnded.__doc__)
    try:
        with transaction.atomic():
            user = User.objects.create_user(email, password, display_name=display_name)
            # The check comes after the insert, because the insert waits for an uncommitted change
            # of address.
            if address_changes.may_be_restored(user.email, at=at):
                transaction.set_rollback(True)
                return None
    except IntegrityError:
        return None
    record("person.added", by=person(user, address), of=user, team=None)
    invitations.accept(invitation, by=user, at=at, address=address)
    return user
