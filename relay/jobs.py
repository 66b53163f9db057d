"""Defines the relay's Celery jobs: one line each, safe to run twice."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.conf import settings
from django.dispatch import receiver

from database.clock import database_now
from database.sweeps import starts_for
from relay.models import Event, Run
from relay.runs import presence
from relay.tasks import lost_runs, push_queue, retention, unanswered
from wake import signals
from wake.callbacks.wake_up import WakeUp

STALE_AFTER_SECONDS = 30


@shared_task
@starts_for(Event.objects.with_due_pushes)
def queue_due_pushes() -> None:
    push_queue.queue_due(at=database_now())


@shared_task
@starts_for(lambda at: Run.objects.on_lease())
def expire_leases() -> None:
    lost_runs.expire_leases(at=database_now())


@shared_task
def give_up_old() -> None:
    lost_runs.give_up_old(at=database_now())


@shared_task
@starts_for(unanswered.overdue)
def go_on_unanswered() -> None:
    unanswered.continue_unanswered(at=database_now())


@shared_task
def forget_gone_connectors() -> None:
    presence.forget_gone(at=database_now())


@shared_task
def erase_old_tasks() -> None:
    retention.erase_old(at=database_now())


_wake_up = WakeUp(lambda: queue_due_pushes.apply_async(expires=STALE_AFTER_SECONDS))


@receiver(signals.work_due, sender=Event, dispatch_uid="relay.jobs.wake_worker")
def wake_worker(**_: Any) -> None:
    if settings.REDIS_URL:  # otherwise the commit wakes the worker (wake/server/work/sweeper.py)
        _wake_up.request()
