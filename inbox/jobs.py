"""Defines the jobs that Celery runs for people: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from database.clock import database_now
from inbox.notifications import digests, reminders
from inbox.notifications.channels import noting, sending
from inbox.notifications.slack import presses, replies
from inbox.people.passkeys import mails as passkey_mails
from inbox.people.sign_in import address_mails, password_resets
from inbox.people.teams import invitation_mails
from inbox.search import index


@shared_task
def send_due_digests() -> None:
    digests.send_due()


@shared_task
def send_due_reminders() -> None:
    reminders.send_due()


@shared_task
def send_due_resets() -> None:
    password_resets.send_due()


@shared_task
def send_due_address_changes() -> None:
    address_mails.send_due()


@shared_task
def send_due_passkey_notices() -> None:
    passkey_mails.send_due()


@shared_task
def send_due_invitations() -> None:
    invitation_mails.send_due()


@shared_task
def index_new_words() -> None:
    index.index_new()


@shared_task
def note_notifications() -> None:
    noting.note_new(at=database_now())


@shared_task
def send_due_notifications() -> None:
    sending.send_due()


@shared_task
def forget_settled_notifications() -> None:
    noting.forget_settled(at=database_now())


@shared_task
def suspend_channels_of_deactivated_people() -> None:
    sending.suspend_deactivated(at=database_now())


@shared_task
def send_due_slack_replies() -> None:
    replies.send_due()


@shared_task
def forget_old_slack_requests() -> None:
    presses.forget_old(at=database_now())
