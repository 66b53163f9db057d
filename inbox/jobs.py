"""Defines the jobs that Celery runs for people: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from database.clock import database_now
from database.sweeps import starts_for
from inbox.models import SlackReply
from inbox.notifications import digests, reminders
from inbox.notifications.channels import batches, recording, sending
from inbox.notifications.checkpoints import sending as checkpoint_sending
from inbox.notifications.slack import presses, replies
from inbox.search import index


@shared_task
def send_due_digests() -> None:
    digests.send_due()


@shared_task
def send_due_reminders() -> None:
    reminders.send_due()


@shared_task
@starts_for(index.agents_to_read)
def index_new_words() -> None:
    index.index_new(at=database_now())


# Version 0.2 uses this name on the broker, and its beat and workers may still run.
@shared_task(name="inbox.jobs.note_notifications")
@starts_for(recording.agents_to_read, recording.due_digests)
def record_notifications() -> None:
    recording.record_new(at=database_now())


@shared_task
@starts_for(batches.due_notifications)
def send_due_notifications() -> None:
    sending.send_due()


@shared_task
def forget_settled_notifications() -> None:
    recording.forget_settled(at=database_now())


@shared_task
def suspend_channels_of_deactivated_people() -> None:
    sending.suspend_deactivated(at=database_now())


@shared_task
@starts_for(SlackReply.objects.due)
def send_due_slack_replies() -> None:
    replies.send_due()


@shared_task
def forget_old_slack_requests() -> None:
    presses.forget_old(at=database_now())


@shared_task
def send_due_checkpoints() -> None:
    checkpoint_sending.send_due()
