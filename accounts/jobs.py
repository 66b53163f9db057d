"""Defines the Celery jobs for the audit, sign-ins and mails to people: one line each, safe to run
twice.

Some jobs keep the names that they had in earlier versions, because beat and workers of those
versions may still run.
"""

from __future__ import annotations

from celery import shared_task

from accounts.limits import attempts
from accounts.log import sweep
from accounts.log.checkpoints import checkpoints
from accounts.models import Invitation
from accounts.oauth import cleanup
from accounts.sign_in.addresses import changes as address_changes
from accounts.sign_in.addresses import mails as address_mails
from accounts.sign_in.browsers import sessions
from accounts.sign_in.passkeys import challenges
from accounts.sign_in.passkeys import mails as passkey_mails
from accounts.sign_in.passkeys import notices as passkey_notices
from accounts.sign_in.passwords import resets as password_resets
from accounts.teams import invitation_mails
from database.clock import database_now
from database.sweeps import starts_for


@shared_task(name="accounts.jobs.seal_new_events")
@starts_for(sweep.new_events, sweep.waiting_objects)
def extend_log() -> None:
    sweep.append_new(at=database_now())


@shared_task
def make_due_checkpoint() -> None:
    checkpoints.make_due(at=database_now())


@shared_task
def forget_expired_sessions() -> None:
    sessions.forget_expired(at=database_now())


@shared_task
def forget_used_challenges() -> None:
    challenges.forget_expired(at=database_now())


@shared_task
def forget_unused_clients() -> None:
    cleanup.forget_unused(at=database_now())


@shared_task
def forget_unlimited_attempts() -> None:
    attempts.forget_unlimited(at=database_now())


@shared_task(name="inbox.jobs.send_due_resets")
@starts_for(password_resets.due)
def send_due_resets() -> None:
    password_resets.send_due()


@shared_task(name="inbox.jobs.send_due_address_changes")
@starts_for(address_changes.mails_due)
def send_due_address_changes() -> None:
    address_mails.send_due()


@shared_task(name="inbox.jobs.send_due_passkey_notices")
@starts_for(passkey_notices.due)
def send_due_passkey_notices() -> None:
    passkey_mails.send_due()


@shared_task(name="inbox.jobs.send_due_invitations")
@starts_for(Invitation.objects.to_be_mailed)
def send_due_invitations() -> None:
    invitation_mails.send_due()
