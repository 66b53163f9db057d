"""The one translator between what A2A sends and what is kept: parts, messages, tasks and push
configs.

Reads every dialect wherever it comes from: 1.0, 0.3 with `kind`, and the mixed one of older
documents with `type` and states like `input_required`. Writes only the canonical form of one
version. What lies between them is the JSON of 1.0 (relay/models/tasks.py).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from relay.blobs import with_urls
from relay.fields import Fields, InvalidParams
from relay.history import newest
from relay.models import Artifact, Event, Message, PushConfig, Task

Version = Literal["0.3", "1.0"]
Json = dict[str, Any]

# Each is checked, kept and sent again by itself.
PARTS_AT_MOST = 1_000
REFERENCES_AT_MOST = 100
LONGEST_TYPE = 128
LONGEST_NAME = 255
LONGEST_URL = 2_048
FOR_PEOPLE = "wake"
CONTENT = ("text", "raw", "url", "data")
# What a file's content is called: in 0.3, before it, and in drafts of 1.0.
FILE_CONTENT = {
    "bytes": "raw",
    "uri": "url",
    "url": "url",
    "fileWithBytes": "raw",
    "fileWithUri": "url",
}
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}", re.ASCII)  # RFC 9110, 5.6.2
_urlsafe = str.maketrans("-_", "+/")


class ContentTypeNotSupported(Exception):
    """The agent takes no content of this type."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A caller's message; its parts are canonical."""

    message_id: str
    parts: list[Json]
    metadata: Json = field(default_factory=dict)
    task_id: str = ""
    context_id: str = ""
    reference_task_ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PushIn:
    """Where a caller wants to hear of a task, and in which version's words. An empty `config_id` is
    ours to make; `credentials` follow `scheme` in the Authorization header."""

    config_id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    version: Version = "1.0"


@dataclass(frozen=True, slots=True)
class Configuration:
    """How a caller wants a send to be answered. Without a `history_length` it sets no limit."""

    blocking: bool = True
    history_length: int | None = None
    push: PushIn | None = None


# Reading ------------------------------------------------------------------------------------------


def read_message(value: Any, path: str = "message") -> Incoming:
    """Raises InvalidParams."""
    message = Fields(value, path)
    message_id = message.needed_id("messageId")
    if message.text("role").upper().removeprefix("ROLE_") != "USER":
        raise message.wrong("role", "Must be ROLE_USER (in 0.3: user), since a caller sent it.")
    references = message.ids("referenceTaskIds")
    if len(references) > REFERENCES_AT_MOST:
        raise message.wrong("referenceTaskIds", f"Must have at most {REFERENCES_AT_MOST} ids.")
    return Incoming(
        message_id=message_id,
        parts=read_parts(message.get("parts"), message.path_of("parts")),
        metadata=message.object("metadata"),
        task_id=message.id("taskId"),
        context_id=message.id("contextId"),
        reference_task_ids=references,
    )


def read_parts(value: Any, path: str = "parts") -> list[Json]:
    """One or more, in any dialect, as canonical ones; raises InvalidParams."""
    if not isinstance(value, list) or not value:
        raise InvalidParams(path, "Must be an array of at least one part.")
    if len(value) > PARTS_AT_MOST:
        raise InvalidParams(path, f"Must have at most {PARTS_AT_MOST} parts.")
    return [_read_part(Fields(part, f"{path}[{number}]")) for number, part in enumerate(value)]


def read_configuration(value: Any, version: Version, path: str = "configuration") -> Configuration:
    """None is one in which nothing is said. Waiting is what both versions do then: 1.0 by its
    definition (3.2.2), 0.3 as its SDK reads an absent `blocking`. Raises InvalidParams."""
    given = Fields({} if value is None else value, path)
    at_once, blocking = given.flag("returnImmediately"), given.flag("blocking")
    push = next((name for name in PUSH_NAMES if given.get(name) is not None), None)
    return Configuration(
        blocking=not at_once if at_once is not None else blocking is not False,
        history_length=given.number("historyLength", low=0),
        push=read_push(given.inner(push), version) if push else None,
    )


PUSH_NAMES = ("taskPushNotificationConfig", "pushNotificationConfig")


def read_push(config: Fields, version: Version) -> PushIn:
    """Raises InvalidParams; whether the URL may be called is relay/pushes.py's to say."""
    url = config.needed("url", longest=LONGEST_URL)
    authentication = Fields(config.object("authentication"), config.path_of("authentication"))
    # 0.3 has a list of schemes to choose from, of which it ever sends one.
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
    """By its name in any dialect; None where there is no such state."""
    name = text.strip().lower().removeprefix("task_state_").replace("-", "_")
    return Task.State(name) if name in Task.State.values else None


def media_types(parts: Iterable[Json]) -> list[str]:
    """Those that the parts say, and those that text and data have without saying so. A file may
    be anything."""
    unsaid = {"text": "text/plain", "data": "application/json"}
    found = (
        part.get("mediaType") or next((unsaid[kind] for kind in unsaid if kind in part), "")
        for part in parts
    )
    return [kind.partition(";")[0].strip().lower() for kind in found if kind]


def _read_part(part: Fields) -> Json:
    if part.get("file") is not None:
        file = part.inner("file")
        name, content = _content(file, FILE_CONTENT)
        media_type = _first(file, ("mimeType", "mediaType"), longest=LONGEST_TYPE)
        filename = _first(file, ("name", "filename"), longest=LONGEST_NAME)
    else:
        name, content = _content(part, {kind: kind for kind in CONTENT})
        media_type, filename = "", ""
    metadata = dict(part.object("metadata"))
    if name == "data" and metadata.get("data_part_compat") is True and isinstance(content, dict):
        # As the SDKs write what is no object into 0.3, whose data parts are objects only.
        content = content.get("value")
        del metadata["data_part_compat"]
    said = metadata.get("mediaType")
    media_type = part.text("mediaType", longest=LONGEST_TYPE) or media_type
    if not media_type and isinstance(said, str):
        media_type = said[:LONGEST_TYPE]
    filename = part.text("filename", longest=LONGEST_NAME) or filename
    found = {"mediaType": media_type, "filename": filename, "metadata": metadata}
    return {name: content} | {key: value for key, value in found.items() if value}


def _first(given: Fields, names: Sequence[str], *, longest: int) -> str:
    """Empty where none of them is there."""
    return next((text for name in names if (text := given.text(name, longest=longest))), "")


def _content(part: Fields, names: dict[str, str]) -> tuple[str, Any]:
    """Which of them it has, by its canonical name. Null is an absence, unless it is all the data
    that there is."""
    there = [name for name in names if part.get(name) is not None]
    if not there and part.has("data") and "data" in names:
        there = ["data"]
    if len(there) != 1:
        raise InvalidParams(part.path, f"Must have exactly one of {', '.join(names)}.")
    (name,) = there
    content = part.get(name)
    if names[name] != "data" and not isinstance(content, str):
        raise part.wrong(name, "Must be a string.")
    return names[name], _base64(part, name, content) if names[name] == "raw" else content


def _base64(part: Fields, name: str, text: str) -> str:
    """The standard alphabet, padded; ProtoJSON takes the URL-safe one and none, too."""
    bare = text.translate(_urlsafe).rstrip("=")
    try:
        content = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise part.wrong(name, "Must be base64.") from None
    return base64.b64encode(content).decode()


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
) -> list[Json]:
    """With at most so many of the newest messages (relay/history.py), of which the one in the
    status is none; of 0 the member is not there, and neither is that of artifacts nobody wants."""
    history = newest(tasks, history_length, without=[task.status_message_id for task in tasks])
    made = _artifacts(tasks) if artifacts else {}
    found = []
    for task in tasks:
        context_id = task.context.context_id
        status = _status(task.state, task.status_at, task.status_message, context_id, version)
        written: Json = {"id": str(task.pk), "contextId": context_id, "status": status}
        if made.get(task.pk):
            written["artifacts"] = [write_artifact(one, version) for one in made[task.pk]]
        if history.get(task.pk):
            written["history"] = [
                _message(message, context_id, version) for message in history[task.pk]
            ]
        found.append(written | ({"kind": "task"} if version == "0.3" else {}))
    return found


def write_message(message: Message, version: Version) -> Json:
    return _message(message, message.context.context_id, version)


def write_artifact(artifact: Artifact, version: Version) -> Json:
    found = {
        "artifactId": artifact.artifact_id,
        "name": artifact.name,
        "description": artifact.description,
        "parts": write_parts(artifact.parts, version),
        "metadata": artifact.metadata,
    }
    return {key: value for key, value in found.items() if value or key == "parts"}


def write_event(event: Event, version: Version) -> Json:
    """A StreamResponse: in 1.0 with exactly one member, in 0.3 what that would hold."""
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
    """Without the token and the credentials, which nobody needs to be told again."""
    found: Json = {"id": config.config_id, "url": config.url}
    if version == "1.0":
        if config.scheme:
            found["authentication"] = {"scheme": config.scheme}
        return {"taskId": str(config.task_id)} | found
    if config.scheme:
        found["authentication"] = {"schemes": [config.scheme]}
    return {"taskId": str(config.task_id), "pushNotificationConfig": found}


def write_parts(parts: Iterable[Json], version: Version) -> list[Json]:
    return [part if version == "1.0" else _older_part(part) for part in with_urls(parts)]


def write_time(at: datetime) -> str:
    """ISO 8601 in UTC to the millisecond (1.0, 5.6.1)."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _older_part(part: Json) -> Json:
    """As 0.3 has it, with `kind` twice: once as `type`, under which older readers look for it. What
    only 1.0 has of a text keeps its name, which nobody minds."""
    rest = {key: value for key, value in part.items() if key not in CONTENT}
    if "text" in part:
        return _both("text") | {"text": part["text"]} | rest
    if "data" in part:
        data = part["data"]
        if not isinstance(data, dict):
            data = {"value": data}
            rest["metadata"] = rest.get("metadata", {}) | {"data_part_compat": True}
        return _both("data") | {"data": data} | rest
    file = {"bytes": part["raw"]} if "raw" in part else {"uri": part["url"]}
    for name, older in (("mediaType", "mimeType"), ("filename", "name")):
        if name in rest:
            file[older] = rest.pop(name)
    return _both("file") | {"file": file} | rest


def _both(kind: str) -> Json:
    return {"kind": kind, "type": kind}


def _message(message: Message, context_id: str, version: Version) -> Json:
    found: Json = {
        "messageId": message.message_id,
        "role": message.role if version == "0.3" else f"ROLE_{message.role.upper()}",
        "parts": write_parts(message.parts, version),
        "contextId": context_id,
    }
    if message.task_id:
        found["taskId"] = str(message.task_id)
    if metadata := _shown(message):
        found["metadata"] = metadata
    if message.reference_task_ids:
        found["referenceTaskIds"] = message.reference_task_ids
    return found | ({"kind": "message"} if version == "0.3" else {})


def _shown(message: Message) -> Json:
    """What an agent says of its own question is for the people who are asked it."""
    if message.source == Message.Source.CALLER:
        return message.metadata
    return {name: value for name, value in message.metadata.items() if name != FOR_PEOPLE}


def _status(
    state: str, at: datetime, message: Message | None, context_id: str, version: Version
) -> Json:
    name = state.replace("_", "-") if version == "0.3" else f"TASK_STATE_{state.upper()}"
    said = {"message": _message(message, context_id, version)} if message else {}
    return {"state": name, **said, "timestamp": write_time(at)}


def _artifacts(tasks: Sequence[Task]) -> dict[UUID, list[Artifact]]:
    found: dict[UUID, list[Artifact]] = defaultdict(list)
    for artifact in Artifact.objects.filter(task__in=tasks):
        found[artifact.task_id].append(artifact)
    return found
