"""Stores where callers want pushes about their tasks, and reads what came of the pushes."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.urls import reverse

from database import encryption
from relay.models import Event, PushConfig, Task
from relay.protocol.dialects import PushIn
from relay.protocol.fields import InvalidParams
from relay.protocol.versions import Version
from wake import retention, signals
from wake.callbacks import allowlist
from wake.callbacks.kinds import Kind, Link
from wake.models import Callback, CallbackAttempt

MAX_CONFIGS = 20
TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - a name
# Metadata for agents that are chained to the task (relay/api/incoming_pushes.py).
HOP = "wakeHop"


def _link(callback: Callback) -> Link:
    return Link(f"task {callback.about}", reverse("task", args=[callback.about]))


# The task's caller chose the destination of a push, so the team's list of hosts does not apply. A
# push has the headers of its config and no signature, because the caller knows none of the agent's
# secrets.
KIND = Kind(
    name="push",
    title="A2A push",
    title_of_many="A2A pushes",
    needs_allowlist=False,
    start_batch=lambda: lambda callback, at: callback.headers,
    link=_link,
    hint="Nothing is lost: the caller can still fetch the task.",
)


class PushConfigNotFound(Exception):
    """There is no such push notification config of this task."""


@transaction.atomic
def create(task: Task, push: PushIn, *, at: datetime) -> PushConfig:
    """Creates a config, or replaces the one with the same id. An ended task can have configs, too,
    although it sends no more pushes. An erased task can have none, because nothing would erase the
    config later. The host name is resolved when a push is sent, not now. Raises InvalidParams."""
    try:
        allowlist.parse(push.url)
    except allowlist.AddressRefused as reason:
        raise InvalidParams("url", str(reason)) from None
    rows = Task.objects.select_for_update(no_key=True).only("erased_at", "generation")
    locked = rows.get(pk=task.pk)
    if locked.erased_at is not None:
        raise InvalidParams("taskId", "This task was erased, and nothing more is sent of it.")
    config_id = push.config_id or _own_id(task, push.version)
    if task.push_configs.exclude(config_id=config_id).count() >= MAX_CONFIGS:
        text = f"A task has at most {MAX_CONFIGS} push notification configs."
        raise InvalidParams("pushNotificationConfig", text)
    fields = {
        "url": push.url,
        "token_ciphertext": _encrypted(push.token),
        "scheme": push.scheme,
        "credentials_ciphertext": _encrypted(push.credentials),
        "wire_version": push.version,
    }
    config, _ = PushConfig.objects.update_or_create(
        task=task,
        config_id=config_id,
        defaults=fields,
        create_defaults=fields | {"created_at": at, "after_generation": locked.generation},
    )
    return config


def get(task: Task, config_id: str = "") -> PushConfig:
    """Returns a config by its id. 0.3 allows a request without an id. Such a request gets the
    config that was created without an id, or else the oldest. Raises PushConfigNotFound."""
    configs = {config.config_id: config for config in task.push_configs.all()}
    oldest = next(iter(configs.values()), None)
    config = configs.get(config_id) if config_id else configs.get(str(task.pk), oldest)
    if config is None:
        raise PushConfigNotFound(PushConfigNotFound.__doc__)
    return config


def get_all(task: Task) -> list[PushConfig]:
    """Returns all configs, oldest first; a task has at most MAX_CONFIGS."""
    return list(task.push_configs.all())


def delete(task: Task, config_id: str) -> None:
    """Deletes a config. No more pushes are queued for the config afterwards. The pushes of past
    events must still be sent, so push_queue.queue_due_of() queues them first. A second call changes
    nothing."""
    task.push_configs.filter(config_id=config_id).delete()


def due_at(task: Task, *, at: datetime) -> datetime | None:
    """Returns when the pushes of an event that this transaction stores are due: immediately, or
    never if the task has no configs. The pushes are made after the commit
    (relay/tasks/push_queue.py)."""
    if not task.push_configs.exists():
        return None
    signals.wake_worker_on_commit(Event)
    return at


def newest_attempts(callbacks: Collection[uuid.UUID]) -> dict[uuid.UUID, CallbackAttempt]:
    """Returns the newest attempt of each callback that was tried. Index:
    attempts_of_a_callback."""
    attempts = CallbackAttempt.objects.filter(callback=OuterRef("pk")).order_by("-pk")
    newest = Callback.objects.filter(pk__in=callbacks).values(
        newest=Subquery(attempts.values("pk")[:1])
    )
    return {
        attempt.callback_id: attempt for attempt in CallbackAttempt.objects.filter(pk__in=newest)
    }


@transaction.atomic
def erase(task_ids: Collection[uuid.UUID], *, at: datetime) -> None:
    """Erases the configs of these tasks, and the content of the pushes that were sent."""
    PushConfig.objects.filter(task__in=task_ids).delete()
    retention.erase_callbacks(Callback.objects.filter(push__task__in=task_ids), at=at)


def _own_id(task: Task, version: Version) -> str:
    """Returns an id for a config without one. In 0.3 this is the task's id, because the SDKs of 0.3
    read the config by the task's id, and a second config replaces the first. In 1.0 this is a new
    id."""
    own = str(task.pk)
    is_taken = version == "1.0" and task.push_configs.filter(config_id=own).exists()
    return str(uuid.uuid4()) if is_taken else own


def _encrypted(text: str) -> str:
    return encryption.encrypt(text.encode()).decode() if text else ""
