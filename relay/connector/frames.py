"""Reads the frames that a connector sends, and writes frames for it."""

from __future__ import annotations

import json
import logging
import uuid
from typing import Any

from django.conf import settings

from database import outages
from database.uuids import uuid_or_none
from relay.content import blobs
from relay.models import Card, Message, Run
from relay.protocol.dialects import Json
from relay.protocol.fields import LONGEST_ID, Fields
from relay.runs import queue as run_queue
from relay.runs.queue import LeaseLost
from wake.api.parsers import Malformed, parse_strictly
from wake.callbacks import traces

logger = logging.getLogger(__name__)


def read_strictly(text: str) -> Any:
    """Parses JSON; raises Malformed."""
    if len(text) > settings.WAKE_MAX_A2A_BYTES:
        raise Malformed(f"It is longer than {settings.WAKE_MAX_A2A_BYTES:,} bytes.")
    return parse_strictly(text.encode(errors="replace"))


def read_leniently(text: str) -> Json:
    """Returns the members of a frame that name its run and its piece of an artifact. Returns no
    members if the frame cannot be parsed."""
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(frame, dict):
        return {}
    names = ("type", "dispatch_id", "lease_id", "n", "artifact")
    return {name: frame.get(name) for name in names}


def needed_uuid(frame: Fields, name: str) -> uuid.UUID:
    value = uuid_or_none(frame.needed(name))
    if value is None:
        raise frame.wrong(name, "Must be a UUID.")
    return value


def uuids(frame: Fields, name: str) -> list[uuid.UUID]:
    """Leaves out texts that are not UUIDs, because a connector may remember runs of another
    relay."""
    return [uuid for text in frame.ids(name) if (uuid := uuid_or_none(text))]


def task_frames(runs: list[Run]) -> list[Json]:
    """Writes each run by itself. A run that cannot be written does not delay the other runs, and
    its lease ends in a minute."""
    frames = []
    for run in runs:
        try:
            frames.append(_task_frame(run))
        except Exception as error:
            if outages.is_away(error):
                raise
            logger.exception("The run %s cannot be sent", run.pk)
    return frames


def _task_frame(run: Run) -> Json:
    """Returns a run with everything that its command gets. A person's decision is beside the
    message, not in it, so that no caller can forge a decision."""
    task, message = run.task, _message(run.message)
    of_caller = task.messages.filter(source=Message.Source.CALLER, pk__lte=run.message_id)
    newest = of_caller.last()  # a person's answer names no output modes
    trace = {traces.HEADER: run.task.traceparent} if run.task.traceparent else {}
    return {
        "type": "task",
        "dispatch_id": str(run.pk),
        "lease_id": str(run.lease),
        "agent": run.agent.agent_id,
        "task": {"id": str(task.pk), "contextId": task.context.context_id, "state": task.state},
        "taskId": str(task.pk),
        "contextId": task.context.context_id,
        "messageId": message["messageId"],
        "message": message,
        "messages": [_message(one) for one in run_queue.history_of(run)],
        "decision": run.decision,
        "caller": {"name": task.caller.name, "id": str(task.caller.pk)} if task.caller else None,
        "acceptedOutputModes": newest.accepted_output_modes if newest else [],
        "metadata": newest.request_metadata if newest else {},
        "referenceTaskIds": newest.reference_task_ids if newest else [],
        "attempt": run.attempts,
        "timeout_s": Card.objects.values_list("timeout_seconds", flat=True).get(agent=run.agent),
        **trace,
    }


def _message(message: Message) -> Json:
    parts = [{"type": _kind(part)} | part for part in blobs.with_urls(message.parts)]
    body: Json = {"role": message.role, "messageId": message.message_id, "parts": parts}
    others = {"metadata": message.metadata, "extensions": message.extensions}
    return body | {name: value for name, value in others.items() if value}


def _kind(part: Json) -> str:
    """Returns the kind of a part, which connectors read as `type`."""
    return next((kind for kind in ("text", "data") if kind in part), "file")


def lost_frame(run: Run, reason: LeaseLost, frame: Fields) -> Json:
    return error_frame("lease_lost", str(reason), frame.value | {"dispatch_id": str(run.pk)})


def error_frame(code: str, message: str, about: Any = None) -> Json:
    """Returns an error frame, with the id of the run that the frame `about` names. An error about
    progress also has its number, because the connector may have sent the run's result meanwhile."""
    named: Json = {}
    if isinstance(about, dict):
        run, number = about.get("dispatch_id"), about.get("n")
        if isinstance(run, str):
            named["dispatch_id"] = run[:LONGEST_ID]
        if about.get("type") == "progress" and type(number) is int:
            named["n"] = number
    return {"type": "error", "code": code, "message": message} | named
