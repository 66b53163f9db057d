"""What Celery runs for the audit and for sign-ins: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from accounts import seals, sessions


@shared_task
def seal_new_events() -> None:
    seals.seal_new(at=timezone.now())


@shared_task
def forget_expired_sessions() -> None:
    sessions.forget_expired(at=timezone.now())
