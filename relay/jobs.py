"""What Celery runs for the relay: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from relay import expiry, presence, retention, unanswered
from wake.clock import database_now


@shared_task
def expire_leases() -> None:
    expiry.expire_leases(at=database_now())


@shared_task
def give_up_old() -> None:
    expiry.give_up_old(at=database_now())


@shared_task
def go_on_unanswered() -> None:
    unanswered.go_on(at=database_now())


@shared_task
def forget_gone_connectors() -> None:
    presence.forget_gone(at=database_now())


@shared_task
def erase_old_tasks() -> None:
    retention.erase_old(at=database_now())
