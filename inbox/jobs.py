"""Defines the jobs that Celery runs for people: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from inbox.notifications import digests, reminders
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
def send_due_invitations() -> None:
    invitation_mails.send_due()


@shared_task
def index_new_words() -> None:
    index.index_new()
