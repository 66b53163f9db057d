"""Translates messages, tasks, events and push configs between A2A on the wire and stored rows.

This module reads every dialect from every sender: 1.0, 0.3 with `kind`, and the mixed dialect of
older documents with `type` and states like `input_required`. The module writes only the canonical
form of one version. Rows store the JSON of 1.0 (relay/models/tasks.py).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef

from relay.content import artifacts as artifact_selection
from relay.content.history import newest
from relay.models import Artifact, Event, Message, PushConfig, Run, Task
from relay.models.cards import MEDIA_TYPE
from relay.protocol.fields import Fields
from relay.protocol.parts import read_parts, write_parts
from relay.protocol.versions import Version
from wake.assignment.votes import quorums_of
from wake.models import Delivery

Json = dict[str, Any]

MAX_REFERENCES = 100
MAX_EXTENSIONS = 100
URI = re.compile(r"[!-~]{1,500}", re.ASCII)
LONGEST_URL = 2_048
# The member of a message's metadata in which an agent adds information for the people it asks.
# Callers do not see this member.
FOR_PEOPLE = "wake"
# In a task's metadata: the ids of the task's messages that the task's next runs will answer.
WAITING_MESSAGES = "wakeWaitingMessages"
# In a task's metadata: the digest of its question, and the nonce. The nonce is left out if a caller
# could use it to confirm a guess at hidden content.
DIGEST = "wakeDigest"
# In a task's metadata: how many people have to approve its question, and how many have approved.
QUORUM = "wakeQuorum"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}", re.ASCII)  # RFC 9110, 5.6.2


class ContentTypeNotSupported(Exception):
    """The agent takes no content of this type."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Holds a caller's message. The parts are canonical. `extensions` are the URIs of the
    extensions that the message uses. `request_metadata` came beside the message."""

    message_id: str
    parts: list[Json]
    metadata: Json = field(default_factory=dict)
    task_id: str = ""
    context_id: str = ""
    reference_task_ids: list[str] = field(default_factory=list)
    accepted_output_modes: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    request_metadata: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PushIn:
    """Describes where a caller wants pushes about a task, and in which version. Wake generates an
    id for an empty `config_id`. `credentials` follow `scheme` in the Authorization header."""

    config_id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    version: Version = "1.0"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Describes how a caller wants a send to be answered. Without a `history_length` there is no
    limit."""

    blocking: bool = True
    history_length: int | None = None
    push: PushIn | None = None
    accepted_output_modes: list[str] = field(default_factory=list)


# Reading ------------------------------------------------------------------------------------------


def read_message(value: Any, path: str = "message") -> Incoming:
    """Reads a caller's message; raises InvalidParams."""
    message = Fields(value, path)
    message_id = message.needed_id("messageId")
    if message.text("role").upper().removeprefix("ROLE_") != "USER":
        raise message.wrong("role", "Must be ROLE_USER (in 0.3: user), since a caller sent it.")
    references = message.ids("referenceTaskIds")
    if len(references) > MAX_REFERENCES:
        raise message.wrong("referenceTaskIds", f"Must have at most {MAX_REFERENCES} ids.")
    return Incoming(
        message_id=message_id,
        parts=read_parts(message.get("parts"), message.path_of("parts")),
        metadata=message.object("metadata"),
        extensions=_extensions(message),
        task_id=message.id("taskId"),
        context_id=message.id("contextId"),
        reference_task_ids=references,
    )


def _extensions(message: Fields) -> list[str]:
    """Returns the extensions that a message names. Ignores a value that is not a list of URIs."""
    given = message.get("extensions")
    named = given if isinstance(given, list) else []
    return [uri for uri in named if isinstance(uri, str) and URI.fullmatch(uri)][:MAX_EXTENSIONS]


def read_configuration(value: Any, version: Version, path: str = "configuration") -> Configuration:
    """Reads the configuration of a send. A `value` of None is read as an empty configuration. By
    default a send blocks: in 1.0 by definition (3.2.2), and in 0.3 because the SDK of 0.3 treats a
    send without `blocking` as blocking. Raises InvalidParams."""
    configuration = Fields({} if value is None else value, path)
    at_once, blocking = configuration.flag("returnImmediately"), configuration.flag("blocking")
    push = next((name for name in PUSH_NAMES if configuration.get(name) is not None), None)
    return Configuration(
        blocking=not at_once if at_once is not None else blocking is not False,
        history_length=configuration.number("historyLength", low=0),
        push=read_push(configuration.inner(push), version) if push else None,
        accepted_output_modes=_modes(configuration),
    )


def _modes(configuration: Fields) -> list[str]:
    """Returns the media types that the caller accepts. Ignores a value that is not a list of
    types."""
    modes = configuration.get("acceptedOutputModes")
    named = modes if isinstance(modes, list) else []
    return [mode for mode in named if isinstance(mode, str) and MEDIA_TYPE.fullmatch(mode)][:100]


PUSH_NAMES = ("taskPushNotificationConfig", "pushNotificationConfig")


def read_push(config: Fields, version: Version) -> PushIn:
    """Reads a push notification config; raises InvalidParams. relay/tasks/pushes.py checks the
    URL."""
    url = config.needed("url", longest=LONGEST_URL)
    authentication = Fields(config.object("authentication"), config.path_of("authentication"))
    # 0.3 lists schemes to choose from, and Wake uses the first scheme of the list.
    schemes = authentication.ids("schemes")
    scheme = authentication.text("scheme") or (schemes[0] if schemes else "")
    if scheme and not TOKEN.fullmatch(scheme):
        raise authentication.wrong("scheme", "Must be the name of an HTTP authentication scheme.")
    return PushIn(
        config_id=config.id("id"),
        url=url,
        token=_header(config, "token"),
        scheme=scheme,
        credentials=_header(authentication, "credentials"),
        version=version,
    )


def read_state(text: str) -> Task.State | None:
    """Returns the state by its name in any dialect, or None if there is no such state."""
    name = text.strip().lower().removeprefix("task_state_").replace("-", "_")
    return Task.State(name) if name in Task.State.values else None


def _header(given: Fields, name: str) -> str:
    text = given.text(name)
    if not (text.isascii() and text.isprintable()):
        raise given.wrong(
            name, "Must have only printable ASCII characters: it is sent as a header."
        )
    return text


# Writing ------------------------------------------------------------------------------------------


def write_task(
    task: Task, version: Version, *, history_length: int | None = None, artifacts: bool = True
) -> Json:
    (written,) = write_tasks([task], version, history_length=history_length, artifacts=artifacts)
    return written


def write_tasks(
    tasks: Sequence[Task],
    version: Version,
    *,
    history_length: int | None = None,
    artifacts: bool = True,
    longest: int | None = None,
) -> list[Json]:
    """Writes each task. `history_length` limits its newest messages, without the message in its
    status (relay/content/history.py). `longest` limits the characters of artifacts in all tasks
    together. Empty members are left out."""
    in_status = [task.status_message_id for task in tasks]
    history = newest(tasks, history_length, without=in_status, for_caller=True)
    # Each artifact and each later message added one generation.
    later = [task for task in tasks if task.generation > 1]
    artifacts_of = artifact_selection.of_tasks(later, longest) if artifacts and later else {}
    waiting = _waiting_messages(later)
    questions = _questions([task for task in later if task.state == Task.State.INPUT_REQUIRED])
    written_tasks = []
    for task in tasks:
        context_id = task.context.context_id
        status = _status(task.state, task.status_at, task.status_message, context_id, version)
        written: Json = {"id": str(task.pk), "contextId": context_id, "status": status}
        if artifacts_of.get(task.pk):
            written["artifacts"] = [write_artifact(one, version) for one in artifacts_of[task.pk]]
        if history.get(task.pk):
            written["history"] = [
                _message(message, context_id, version) for message in history[task.pk]
            ]
        metadata = {WAITING_MESSAGES: waiting[task.pk]} if waiting.get(task.pk) else {}
        if metadata := {**metadata, **questions.get(task.pk, {})}:
            written["metadata"] = metadata
        written_tasks.append(written | ({"kind": "task"} if version == "0.3" else {}))
    return written_tasks


def write_message(message: Message, version: Version) -> Json:
    return _message(message, message.context.context_id, version)


def write_artifact(artifact: Artifact, version: Version) -> Json:
    members = {
        "artifactId": artifact.artifact_id,
        "name": artifact.name,
        "description": artifact.description,
        "parts": write_parts(artifact.parts, version),
        "metadata": artifact.metadata,
    }
    return {key: value for key, value in members.items() if value or key == "parts"}


def write_event(event: Event, version: Version) -> Json:
    """Writes a StreamResponse. In 1.0 a StreamResponse has exactly one member. In 0.3 only the
    content of that member is sent."""
    task = event.task
    of: Json = {"taskId": str(task.pk), "contextId": task.context.context_id}
    match event:
        case Event(kind=Event.Kind.ARTIFACT, artifact=Artifact() as artifact):
            name, older = "artifactUpdate", "artifact-update"
            body = of | {"artifact": write_artifact(artifact, version)}
        case Event(kind=Event.Kind.MESSAGE, message=Message() as message):
            name, older = "message", "message"
            body = _message(message, of["contextId"], version)
        case _:
            name, older = "statusUpdate", "status-update"
            status = _status(event.state, event.at, event.message, of["contextId"], version)
            body = of | {"status": status}
    if version == "1.0":
        return {name: body}
    if older == "status-update":
        body["final"] = event.state in Task.TERMINAL | Task.INTERRUPTED
    return body | {"kind": older}


def write_push_config(config: PushConfig, version: Version) -> Json:
    """Writes a config without its token and credentials, which the caller knows."""
    body: Json = {"id": config.config_id, "url": config.url}
    if version == "1.0":
        if config.scheme:
            body["authentication"] = {"scheme": config.scheme}
        return {"taskId": str(config.task_id)} | body
    if config.scheme:
        body["authentication"] = {"schemes": [config.scheme]}
    return {"taskId": str(config.task_id), "pushNotificationConfig": body}


def write_time(at: datetime) -> str:
    """Writes ISO 8601 in UTC to the millisecond (1.0, 5.6.1)."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message(message: Message, context_id: str, version: Version) -> Json:
    body: Json = {
        "messageId": message.message_id,
        "role": message.role if version == "0.3" else f"ROLE_{message.role.upper()}",
        "parts": write_parts(message.parts, version),
        "contextId": context_id,
    }
    if message.task_id:
        body["taskId"] = str(message.task_id)
    if metadata := _metadata_for_caller(message):
        body["metadata"] = metadata
    if message.extensions:
        body["extensions"] = message.extensions
    if message.reference_task_ids:
        body["referenceTaskIds"] = message.reference_task_ids
    return body | ({"kind": "message"} if version == "0.3" else {})


def _metadata_for_caller(message: Message) -> Json:
    """Returns the metadata for the caller, without the agent's information for the people it
    asks."""
    if message.source == Message.Source.CALLER:
        return message.metadata
    return {name: value for name, value in message.metadata.items() if name != FOR_PEOPLE}


def _status(
    state: str, at: datetime, message: Message | None, context_id: str, version: Version
) -> Json:
    name = state.replace("_", "-") if version == "0.3" else f"TASK_STATE_{state.upper()}"
    with_message = {"message": _message(message, context_id, version)} if message else {}
    return {"state": name, **with_message, "timestamp": write_time(at)}


def _questions(tasks: Sequence[Task]) -> dict[UUID, Json]:
    """Returns the metadata of each task that waits for people: the votes on its question, and the
    digest of the question. The tasks belong to one agent. Makes one query, and three more if a
    question asks several people."""
    if not tasks:
        return {}
    questions = Delivery.objects.filter(
        task_delivery__task__in=tasks,
        type=Delivery.Type.QUESTION,
        status=Delivery.Status.PENDING,
        superseded_at__isnull=True,
    )
    words = Message.objects.filter(task=OuterRef("task_delivery__task"), source="owner")
    rows = list(
        questions.annotate(has_words_of_people=Exists(words)).values(
            "pk",
            "quorum",
            "team",
            "content_hash",
            "nonce",
            "assumption",
            "has_words_of_people",
            task=F("task_delivery__task"),
        )
    )
    asked = {row["pk"]: row["quorum"] for row in rows if row["quorum"]}
    quorums = quorums_of(asked, team_id=rows[0]["team"]) if asked else {}
    return {
        row["task"]: {
            **({QUORUM: quorums[row["pk"]].while_waiting} if row["pk"] in quorums else {}),
            DIGEST: _digest(row),
        }
        for row in rows
    }


def _digest(question: Mapping[str, Any]) -> Json:
    """Returns the digest and the nonce of a question. Leaves out the nonce if the question has the
    words of a person or the agent's assumption. A caller may see neither, and could confirm a guess
    with a digest and its nonce."""
    digest = {"digest": question["content_hash"]}
    is_hidden = question["has_words_of_people"] or question["assumption"]
    if is_hidden or not question["nonce"]:
        return digest
    return {**digest, "nonce": question["nonce"]}


def _waiting_messages(tasks: Sequence[Task]) -> dict[UUID, list[str]]:
    waiting: dict[UUID, list[str]] = defaultdict(list)
    goes_on = {Task.State.SUBMITTED, Task.State.WORKING}
    if going_on := [task for task in tasks if task.state in goes_on]:
        runs = Run.objects.filter(task__in=going_on).behind_another().order_by("created_at", "pk")
        for task_id, message_id in runs.values_list("task", "message__message_id"):
            waiting[task_id].append(message_id)
    return waiting
