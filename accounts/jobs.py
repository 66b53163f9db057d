"""Defines the Celery jobs for the audit and for sign-ins: one line each, safe to run twice."""

from __future__ import annotations

from celery import shared_task

from accounts.audit import chain
from accounts.passkeys import challenges
from accounts.sign_in import attempts, sessions
from database.clock import database_now


# The name on the broker is that of version 0.1, whose beat and workers may still run.
@shared_task(name="accounts.jobs.seal_new_events")
def extend_audit_chains() -> None:
    chain.append_new(at=database_now())


@shared_task
def forget_expired_sessions() -> None:
    sessions.forget_expired(at=database_now())


@shared_task
def forget_used_challenges() -> None:
    challenges.forget_expired(at=database_now())


@shared_task
def forget_unlimited_attempts() -> None:
    attempts.forget_unlimited(at=database_now())
