"""What Celery runs for people: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from inbox import digests, full_text, invitation_mails, last_calls, password_resets


@shared_task
def send_due_digests() -> None:
    digests.send_due()


@shared_task
def send_due_last_calls() -> None:
    last_calls.send_due()


@shared_task
def send_due_resets() -> None:
    password_resets.send_due()


@shared_task
def send_due_invitations() -> None:
    invitation_mails.send_due()


@shared_task
def index_new_words() -> None:
    full_text.index_new()
