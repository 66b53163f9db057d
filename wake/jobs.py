"""Defines the Celery jobs of the protocol: one line each, safe to run twice."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.conf import settings
from django.dispatch import receiver

from database.clock import database_now
from database.sweeps import starts_for
from wake import deadlines, responses, retention, signals
from wake.answering import trials
from wake.assignment import escalation
from wake.blobs import removal
from wake.callbacks import circuit_breaker, sending
from wake.callbacks.wake_up import WakeUp
from wake.models import Callback, Delivery, Heartbeat, Response, Trial
from wake.server.metrics import counting, samples

STALE_AFTER_SECONDS = 30


@shared_task
@starts_for(Callback.objects.due)
def send_due_callbacks() -> None:
    sending.send_due()


# Version 0.1 uses this name on the broker, and its beat and workers may still run.
@shared_task(name="wake.jobs.take_up_orphans")
def requeue_orphans() -> None:
    circuit_breaker.requeue_orphans(at=database_now())


@shared_task
@starts_for(Response.objects.due)
def release_due_responses() -> None:
    responses.release_due(at=database_now())


@shared_task
@starts_for(Delivery.objects.overdue)
def time_out_overdue() -> None:
    deadlines.time_out_overdue(at=database_now())


@shared_task
def escalate_due() -> None:
    escalation.escalate_due(at=database_now())


@shared_task
@starts_for(trials.agents_to_read, Trial.objects.due)
def answer_by_rules() -> None:
    trials.record_and_answer(at=database_now())


@shared_task
def erase_old_content() -> None:
    retention.erase_old(at=database_now())


@shared_task
def remove_unused_blobs() -> None:
    removal.remove_unused(at=database_now())


@shared_task
def beat() -> None:
    queue = settings.CELERY_TASK_DEFAULT_QUEUE
    Heartbeat.objects.update_or_create(name=queue, defaults={"at": database_now()})


@shared_task
@starts_for(counting.passed_checkpoint)
def count_events() -> None:
    counting.count_new()


@shared_task
def keep_figures() -> None:
    samples.keep(at=database_now())


_wake_up = WakeUp(lambda: send_due_callbacks.apply_async(expires=STALE_AFTER_SECONDS))


@receiver(signals.work_due, sender=Callback, dispatch_uid="wake.jobs.wake_worker")
def wake_worker(**_: Any) -> None:
    if settings.REDIS_URL:  # otherwise the commit wakes the worker (wake/server/work/sweeper.py)
        _wake_up.request()
