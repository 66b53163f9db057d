"""Where callers want to hear of their tasks, and the news that is sent there: each a row of the
outbox, written in the transaction that made it."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import transaction

from accounts import encryption
from accounts.encryption import Unreadable
from relay.fields import InvalidParams
from relay.models import Event, PushConfig, PushNotification, Task
from relay.wire import Json, PushIn, Version, write_event, write_task
from wake import destinations, outbox, retention
from wake.models import Callback

log = logging.getLogger(__name__)

CONFIGS_AT_MOST = 20
TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - a name
# What Wake says of a task to whoever is chained to it (relay/chaining.py).
GENERATION, HOP = "wakeGeneration", "wakeHop"


class PushConfigNotFound(Exception):
    """There is no such push notification config of this task."""


@transaction.atomic
def create(task: Task, push: PushIn, *, at: datetime) -> PushConfig:
    """In place of an earlier one of the same id; also of a task that has ended (which sends nothing
    more), unless it was erased since: nothing would ever erase this. Its name is looked up when
    something is sent, not now. Raises InvalidParams."""
    try:
        destinations.parse(push.url)
    except destinations.Refused as reason:
        raise InvalidParams("url", str(reason)) from None
    locked = Task.objects.select_for_update().only("erased_at").get(pk=task.pk)
    if locked.erased_at is not None:
        raise InvalidParams("taskId", "This task was erased, and nothing more is sent of it.")
    config_id = push.config_id or _own_id(task, push.version)
    if task.push_configs.exclude(config_id=config_id).count() >= CONFIGS_AT_MOST:
        text = f"A task has at most {CONFIGS_AT_MOST} push notification configs."
        raise InvalidParams("pushNotificationConfig", text)
    given = {
        "url": push.url,
        "token_ciphertext": _encrypted(push.token),
        "scheme": push.scheme,
        "credentials_ciphertext": _encrypted(push.credentials),
        "wire_version": push.version,
    }
    config, _ = PushConfig.objects.update_or_create(
        task=task, config_id=config_id, defaults=given, create_defaults=given | {"created_at": at}
    )
    return config


def get(task: Task, config_id: str = "") -> PushConfig:
    """The oldest where no id is given, as 0.3 allows; raises PushConfigNotFound."""
    configs = task.push_configs.filter(config_id=config_id) if config_id else task.push_configs
    found = configs.first()
    if found is None:
        raise PushConfigNotFound(PushConfigNotFound.__doc__)
    return found


def get_all(task: Task) -> list[PushConfig]:
    """Oldest first; there are no more than CONFIGS_AT_MOST."""
    return list(task.push_configs.all())


def delete(task: Task, config_id: str) -> None:
    """Nothing more is queued for it; what was queued before is still sent. One that is not there is
    gone already."""
    task.push_configs.filter(config_id=config_id).delete()


def queue(task: Task, event: Event) -> None:
    """Inside the transaction that moved the task: one notification for each config. What others
    said to the task is no news of it. What no key opens any more is told to nobody, and holds the
    task back no more than it does the others who want to hear of it."""
    if event.kind == Event.Kind.MESSAGE:
        return
    bodies: dict[str, bytes] = {}
    notifications = []
    for config in task.push_configs.all():
        version: Version = "0.3" if config.wire_version == "0.3" else "1.0"
        try:
            url, headers = config.url, _headers(config)
            if version not in bodies:
                bodies[version] = json.dumps(payload(task, event, version)).encode()
        except Unreadable:
            log.error(  # noqa: TRY400 - the trace says nothing more
                "No push of task %s to config %s: WAKE_ENCRYPTION_KEYS lacks the key of a row",
                task.pk,
                config.pk,
            )
            continue
        callback = outbox.queue_push(
            task.agent,
            task_id=task.pk,
            url=url,
            body=bodies[version],
            headers=headers,
            at=event.at,
        )
        notifications.append(
            PushNotification(
                config=config, task=task, generation=event.generation, callback=callback
            )
        )
    PushNotification.objects.bulk_create(notifications)


def payload(task: Task, event: Event, version: Version) -> Json:
    """What is sent: in 0.3 the task (9.5), in 1.0 a StreamResponse (4.3.3). Of one that waits for
    somebody or has ended this is the whole task, so that nobody has to come and ask for what it
    made; of anything between it is the change alone."""
    of_us = {GENERATION: event.generation, HOP: task.hop}
    stopped = task.state in Task.TERMINAL | Task.INTERRUPTED
    if version == "1.0" and not (stopped and event.kind == Event.Kind.STATUS):
        ((name, change),) = write_event(event, version).items()
        return {name: change | {"metadata": of_us}}
    whole = write_task(task, version, history_length=0) | {"metadata": of_us}
    return {"task": whole} if version == "1.0" else whole


@transaction.atomic
def erase(task_ids: Collection[uuid.UUID], *, at: datetime) -> None:
    """Where news of these tasks went, and what it said."""
    PushConfig.objects.filter(task__in=task_ids).delete()
    retention.erase_callbacks(Callback.objects.filter(push__task__in=task_ids), at=at)


def _headers(config: PushConfig) -> Mapping[str, str]:
    """With a scheme and no credentials the token is what there is to show (the relay's document
    gives both in its example of a push notification config)."""
    token = _decrypted(config.token_ciphertext)
    credentials = _decrypted(config.credentials_ciphertext) or token
    headers = {"Content-Type": "application/json"}
    if config.scheme and credentials:
        headers["Authorization"] = f"{config.scheme} {credentials}"
    if token:
        headers[TOKEN_HEADER] = token
    return headers


def _own_id(task: Task, version: Version) -> str:
    """In 0.3 a task's config without an id is always the same one, as its SDKs have it."""
    return str(task.pk if version == "0.3" else uuid.uuid4())


def _encrypted(text: str) -> str:
    return encryption.encrypt(text.encode()).decode() if text else ""


def _decrypted(token: str) -> str:
    """Raises encryption.Unreadable."""
    return encryption.decrypt(token.encode()).decode() if token else ""
