"""Defines the relay's Celery jobs: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from database.clock import database_now
from relay.runs import presence
from relay.tasks import lost_runs, retention, unanswered


@shared_task
def expire_leases() -> None:
    lost_runs.expire_leases(at=database_now())


@shared_task
def give_up_old() -> None:
    lost_runs.give_up_old(at=database_now())


@shared_task
def go_on_unanswered() -> None:
    unanswered.continue_unanswered(at=database_now())


@shared_task
def forget_gone_connectors() -> None:
    presence.forget_gone(at=database_now())


@shared_task
def erase_old_tasks() -> None:
    retention.erase_old(at=database_now())
