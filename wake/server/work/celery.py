"""Configures Celery: which jobs there are, and how often each may start."""

from __future__ import annotations

import gc
import logging
import os
import time
import warnings
from contextvars import Token
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import (
    after_setup_logger,
    celeryd_init,
    task_postrun,
    task_prerun,
    task_received,
    worker_init,
    worker_ready,
)
from celery.utils.log import get_multiprocessing_logger
from celery.worker.state import active_requests
from django.conf import settings

import wake.server.work.redis_broker  # noqa: F401 - the import registers the broker
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.server.work.silence import Silence, hears_beat, listen, start_sweeper
from wake.server.work.watchdog import Watchdog, watch

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wake.settings")

# This time is long enough for clocks that differ between machines. It is short enough that a worker
# drops the jobs that beat sent while no worker ran.
STALE_AFTER_SECONDS = 30

_jobs: dict[str, Token[LogFacts]] = {}
app = Celery("wake")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="jobs")
app.conf.beat_schedule = {
    job: {
        "task": job,
        "schedule": seconds,
        "options": {"expires": STALE_AFTER_SECONDS},
    }
    for job, seconds in {
        "wake.jobs.release_due_responses": 1.0,
        "wake.jobs.send_due_callbacks": 1.0,
        "wake.jobs.take_up_orphans": 60.0,
        "wake.jobs.time_out_overdue": 3.0,
        "wake.jobs.escalate_due": 10.0,
        "wake.jobs.answer_by_rules": 2.0,
        "wake.jobs.erase_old_content": 60.0,
        "wake.jobs.remove_unused_blobs": 600.0,
        "accounts.jobs.forget_expired_sessions": 600.0,
        "accounts.jobs.forget_unlimited_attempts": 600.0,
        "accounts.jobs.forget_unused_clients": 3600.0,
        "accounts.jobs.forget_used_challenges": 600.0,
        "wake.jobs.beat": 10.0,
        "wake.jobs.count_events": 5.0,
        "wake.jobs.keep_figures": 60.0,
        "accounts.jobs.seal_new_events": 3.0,
        "accounts.jobs.make_due_checkpoint": 60.0,
        "inbox.jobs.index_new_words": 2.0,
        "inbox.jobs.send_due_address_changes": 3.0,
        "inbox.jobs.send_due_checkpoints": 10.0,
        "inbox.jobs.send_due_digests": 30.0,
        "inbox.jobs.send_due_invitations": 3.0,
        "inbox.jobs.send_due_passkey_notices": 3.0,
        "inbox.jobs.send_due_reminders": 30.0,
        "inbox.jobs.send_due_resets": 2.0,
        "inbox.jobs.note_notifications": 2.0,
        "inbox.jobs.send_due_notifications": 2.0,
        "inbox.jobs.forget_settled_notifications": 600.0,
        "inbox.jobs.suspend_channels_of_deactivated_people": 60.0,
        "inbox.jobs.send_due_slack_replies": 1.0,
        "inbox.jobs.forget_old_slack_requests": 600.0,
        "relay.jobs.queue_due_pushes": 1.0,
        "relay.jobs.expire_leases": 3.0,
        "relay.jobs.give_up_old": 60.0,
        "relay.jobs.go_on_unanswered": 3.0,
        "relay.jobs.erase_old_tasks": 60.0,
        "relay.jobs.forget_gone_connectors": 3600.0,
    }.items()
}


@after_setup_logger.connect
def _format_lines_of_the_pool(logger: logging.Logger, **_: Any) -> None:
    """Formats the lines about the pool's processes as all other lines. Celery would format them
    itself."""
    pool: Any = get_multiprocessing_logger()
    for handler in pool.handlers:
        handler.setFormatter(logger.handlers[0].formatter)


@task_prerun.connect
def _begin_job(task_id: str, task: Any, **_: Any) -> None:
    """Lets each line of the log name its job. The rows of a job come from many requests, so the
    job has an id of its own."""
    _jobs[task_id] = log_context.begin(LogFacts(task_id, job=task.name))


@task_postrun.connect
def _end_job(task_id: str, **_: Any) -> None:
    log_context.end(_jobs.pop(task_id))


@celeryd_init.connect
def _allow_root_in_trials(**_: Any) -> None:
    """Silences Celery's warning about root outside production, as in a trial container."""
    if not settings.PRODUCTION:
        warnings.filterwarnings("ignore", category=SecurityWarning)


@worker_init.connect
def _collect_no_code(**_: Any) -> None:
    """Excludes from garbage collections the objects that a worker loads before it forks its pool
    and never frees. Also collects less often, because a full collection took as long as hundreds of
    callbacks."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@worker_ready.connect
def _watch_over_the_worker(**_: Any) -> None:
    dog = Watchdog(jobs_waiting, lambda: len(active_requests), began_at=time.monotonic())
    task_received.connect(lambda **_: dog.record_job(at=time.monotonic()), weak=False)
    watch(dog)


@worker_init.connect
def _sweep_without_the_broker(**_: Any) -> None:
    """Starts to listen before the worker is ready, because a worker that starts while the broker is
    away never becomes ready."""
    silence = Silence(start_sweeper, hears_beat, began_at=time.monotonic())
    for sound in (worker_ready, task_received):
        sound.connect(lambda **_: silence.record_job(at=time.monotonic()), weak=False)
    listen(silence)


def jobs_waiting() -> int:
    """Returns how many jobs wait in the broker. Raises an exception if the broker does not
    answer."""
    with app.connection_for_read(connect_timeout=2) as connection:
        channel: Any = connection.default_channel
        if settings.WAKE_USES_RABBITMQ:
            declared = channel.queue_declare(app.conf.task_default_queue, passive=True)
            return int(declared.message_count)
        # queue_declare() would look for the queue without the prefix of Redis's keys, and find
        # none.
        return int(channel._size(app.conf.task_default_queue))
