"""Stores where callers want pushes about their tasks, and queues each push as a row of the outbox
in the transaction that causes it."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.urls import reverse

from database import encryption
from database.encryption import Unreadable
from relay.models import Event, PushConfig, PushNotification, Task
from relay.protocol.dialects import Json, PushIn, write_event, write_task
from relay.protocol.fields import InvalidParams
from relay.protocol.stream_events import GENERATION
from relay.protocol.versions import Version
from wake import retention
from wake.callbacks import allowlist, outbox
from wake.callbacks.kinds import Kind, Link
from wake.models import Callback

log = logging.getLogger(__name__)

CONFIGS_AT_MOST = 20
AT_ONCE = 500  # rows of one statement
# 1.0 has a media type of its own for what is no JSON-RPC (1.0.1, 14.1).
CONTENT_TYPES = {"1.0": "application/a2a+json", "0.3": "application/json"}
TOKEN_HEADER = "X-A2A-Notification-Token"  # noqa: S105 - a name
# Metadata for agents that are chained to the task (relay/api/incoming_pushes.py).
HOP = "wakeHop"


def _link(callback: Callback) -> Link:
    return Link(f"task {callback.about}", reverse("task", args=[callback.about]))


# A push goes where the task's caller asked for, so the team's list of hosts has no say. It carries
# the headers of its config and no signature: the caller knows none of the agent's secrets.
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
    """Creates a config, or replaces the one with the same id. A task that has ended can have
    configs, too, although it sends nothing more; an erased task cannot, because nothing would erase
    the config. The host name is resolved when a push is sent, not now. Raises InvalidParams."""
    try:
        allowlist.parse(push.url)
    except allowlist.Refused as reason:
        raise InvalidParams("url", str(reason)) from None
    locked = Task.objects.select_for_update().only("erased_at").get(pk=task.pk)
    if locked.erased_at is not None:
        raise InvalidParams("taskId", "This task was erased, and nothing more is sent of it.")
    config_id = push.config_id or _own_id(task, push.version)
    if task.push_configs.exclude(config_id=config_id).count() >= CONFIGS_AT_MOST:
        text = f"A task has at most {CONFIGS_AT_MOST} push notification configs."
        raise InvalidParams("pushNotificationConfig", text)
    fields = {
        "url": push.url,
        "token_ciphertext": _encrypted(push.token),
        "scheme": push.scheme,
        "credentials_ciphertext": _encrypted(push.credentials),
        "wire_version": push.version,
    }
    config, _ = PushConfig.objects.update_or_create(
        task=task, config_id=config_id, defaults=fields, create_defaults=fields | {"created_at": at}
    )
    return config


def get(task: Task, config_id: str = "") -> PushConfig:
    """Returns a config by its id. Without one, as 0.3 allows, it is the config that was created
    without an id, or else the oldest. Raises PushConfigNotFound."""
    configs = {config.config_id: config for config in task.push_configs.all()}
    oldest = next(iter(configs.values()), None)
    config = configs.get(config_id) if config_id else configs.get(str(task.pk), oldest)
    if config is None:
        raise PushConfigNotFound(PushConfigNotFound.__doc__)
    return config


def get_all(task: Task) -> list[PushConfig]:
    """Returns all configs, oldest first; a task has at most CONFIGS_AT_MOST."""
    return list(task.push_configs.all())


def delete(task: Task, config_id: str) -> None:
    """Deletes a config. Nothing more is queued for it, and what is queued already is still sent. A
    second call changes nothing."""
    task.push_configs.filter(config_id=config_id).delete()


def queue(task: Task, events: Sequence[Event], *, ends_in_status: bool = False) -> None:
    """Queues one push of each event for each config, inside the transaction that changed the task.
    Messages to the task are not pushed. In 0.3, where a push is the whole task, no artifact is
    pushed by itself if the transaction `ends_in_status`: that push has all of them. A config that
    cannot be decrypted is skipped, so that it holds back neither the task nor the other configs."""
    events = [event for event in events if event.kind != Event.Kind.MESSAGE]
    bodies: dict[tuple[str, int], bytes] = {}
    posts, sent = [], []
    for config in task.push_configs.all() if events else ():
        version: Version = "0.3" if config.wire_version == "0.3" else "1.0"
        try:
            url, headers = config.url, _headers(config)
            for event in [] if version == "0.3" and ends_in_status else events:
                key = version, event.generation
                if key not in bodies:
                    bodies[key] = json.dumps(payload(task, event, version)).encode()
                posts.append(outbox.Post(url, bodies[key], headers))
                sent.append((config, event))
        except Unreadable:
            log.error(  # noqa: TRY400 - the trace says nothing more
                "No push of task %s to config %s: WAKE_ENCRYPTION_KEYS lacks the key of a row",
                task.pk,
                config.pk,
            )
    if not posts:
        return
    callbacks = outbox.queue_others(
        task.agent, posts, kind=KIND.name, about=task.pk, at=events[-1].at
    )
    PushNotification.objects.bulk_create(
        (
            PushNotification(
                config=config, task=task, generation=event.generation, callback=callback
            )
            for (config, event), callback in zip(sent, callbacks, strict=True)
        ),
        batch_size=AT_ONCE,
    )


def payload(task: Task, event: Event, version: Version) -> Json:
    """Returns the body of a push: in 0.3 the task (9.5), in 1.0 a StreamResponse (4.3.3). When a
    task waits for input or has ended, this is the whole task, so that the receiver need not fetch
    it; otherwise it is the change alone."""
    of_us = {GENERATION: event.generation, HOP: task.hop}
    stopped = task.state in Task.TERMINAL | Task.INTERRUPTED
    if version == "1.0" and not (stopped and event.kind == Event.Kind.STATUS):
        ((name, change),) = write_event(event, version).items()
        return {name: change | {"metadata": of_us}}
    whole = write_task(task, version, history_length=0) | {"metadata": of_us}
    return {"task": whole} if version == "1.0" else whole


@transaction.atomic
def erase(task_ids: Collection[uuid.UUID], *, at: datetime) -> None:
    """Erases the configs of these tasks, and the content of the pushes that were sent."""
    PushConfig.objects.filter(task__in=task_ids).delete()
    retention.erase_callbacks(Callback.objects.filter(push__task__in=task_ids), at=at)


def _headers(config: PushConfig) -> Mapping[str, str]:
    """Returns the headers of a push. A config with a scheme and no credentials sends the token as
    credentials, because callers give either (docs/a2a.md, Push notifications)."""
    token = _decrypted(config.token_ciphertext)
    credentials = _decrypted(config.credentials_ciphertext) or token
    headers = {"Content-Type": CONTENT_TYPES[config.wire_version]}
    if config.scheme and credentials:
        headers["Authorization"] = f"{config.scheme} {credentials}"
    if token:
        headers[TOKEN_HEADER] = token
    return headers


def _own_id(task: Task, version: Version) -> str:
    """Returns an id for a config without one: the task's, by which the SDKs of 0.3 read it. There a
    second one replaces the first; in 1.0 it gets an id of its own."""
    own = str(task.pk)
    is_taken = version == "1.0" and task.push_configs.filter(config_id=own).exists()
    return str(uuid.uuid4()) if is_taken else own


def _encrypted(text: str) -> str:
    return encryption.encrypt(text.encode()).decode() if text else ""


def _decrypted(token: str) -> str:
    """Decrypts a secret; raises encryption.Unreadable."""
    return encryption.decrypt(token.encode()).decode() if token else ""
