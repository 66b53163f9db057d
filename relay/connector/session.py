"""Talks to one connector, a `wake connect` process: frames in, frames out, over either transport.

What must be remembered between two frames is in rows, so a connector continues where it was after
either side has restarted. Frames are JSON objects with a `type`. From the connector: hello, ack,
progress, result, heartbeat, pong, drain; to it: welcome, task, done, cancel, ping, error.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import ApiKey
from database import outages
from database.uuids import uuid_or_none
from relay.content import blobs
from relay.models import ONLINE_TIMEOUT, RESULT_TIMEOUT, Card, Connector, Message, Run
from relay.protocol.dialects import Json
from relay.protocol.fields import LONGEST_ID, Fields, InvalidParams
from relay.runs import queue as run_queue
from relay.runs.queue import LeaseLost
from relay.runs.results import HIGHEST_NUMBER
from relay.tasks import lost_runs, reports, transitions
from relay.tasks.artifacts import ResultTooLarge
from wake.api.parsers import Malformed, parse_strictly

logger = logging.getLogger(__name__)

PROTOCOL = 1
CAPACITY_AT_MOST = 100
# Why a connection ends (RFC 6455, 7.4.2: 4000 and up are an application's own).
KEY_REFUSED, OTHER_AGENT, OTHER_PROTOCOL, SILENT, REPLACED = 4401, 4403, 4406, 4408, 4409


class RunUnknown(Exception):
    """There is no such run of this agent."""


class Session:
    """Serves one connection of one key. `closes` is set once the connection must end, and says
    why."""

    def __init__(self, key: ApiKey, *, transport: str, address: str = "") -> None:
        self.key = key
        self.transport = transport
        self.address = address
        self.connector: Connector | None = None
        self.closes: int | None = None
        self._takes: dict[str, Callable[[Fields, datetime], list[Json]]] = {
            "hello": self._hello,
            "ack": self._ack,
            "progress": self._progress,
            "result": self._result,
            "heartbeat": self._heartbeat,
            "pong": self._pong,
            "drain": self._drain,
        }

    def find(self, instance_id: str, *, at: datetime) -> None:
        """Continues the session of the connector that said hello with this id, if there is one."""
        rows = Connector.objects.filter(agent=self.key.agent_id, instance_id=instance_id)
        self.connector = rows.filter(left_at__isnull=True).first()
        self._seen(at)

    def read(self, text: str, *, at: datetime) -> list[Json]:
        """Answers one frame, given as JSON text. An unexpected error is reported to the connector
        as `failed`: if it ended the connection, the next one would begin with the same frame."""
        try:
            return self._read(text, at=at)
        except Exception as error:
            if outages.will_pass(error):
                raise  # the connector says it again on its next connection
            logger.exception("A frame of a connector could not be taken")
            return self._refuse("failed", "Something on our side failed.", _leniently(text))

    def _read(self, text: str, *, at: datetime) -> list[Json]:
        """Answers one frame. A result that cannot be stored, because it is too long or contains
        U+0000, fails its run: sent again it would be the same."""
        try:
            return self.receive(_strictly(text), at=at)
        except Malformed as reason:
            frame = _leniently(text)
            if frame.get("type") != "result":
                return self._refuse("malformed", str(reason), frame)
            why = f"The agent's answer cannot be stored: {reason}"
            return self.receive(frame | {"state": "failed", "text": why}, at=at)

    def receive(self, value: Any, *, at: datetime) -> list[Json]:
        """Answers one frame. An invalid frame is answered with an error; an unknown type, which a
        later protocol may add, is ignored."""
        try:
            frame = Fields(value, "frame")
            take = self._takes.get(frame.text("type"))
            if take is None:
                return []
            if self.connector is None and take != self._hello:
                return [_error("hello_first", "Say hello before anything else.")]
            self._seen(at)
            return take(frame, at)
        except InvalidParams as reason:
            return self._refuse("malformed", str(reason), value)
        except RunUnknown as reason:
            return [_error("unknown_run", str(reason), value)]

    def look(self, *, at: datetime) -> list[Json]:
        """Returns new frames for this connector: runs, and requests to stop them. Its key is
        checked first each time, so a revoked key leases nothing more."""
        if self.connector is None or self.closes:
            return []
        runs = Run.objects.filter(agent=self.connector.agent_id)
        ready = Run.objects.ready(self.connector.agent)
        begun_runs = runs.begun_by(self.connector)
        to_stop = runs.to_stop(at).filter(connector=self.connector)
        connection_id, seen_at, left_at, draining_at, is_admitted, *has = (
            Connector.objects.filter(pk=self.connector.pk)
            .values_list(
                *("connection_id", "seen_at", "left_at", "draining_at"),
                Exists(ApiKey.objects.usable(at).filter(pk=OuterRef("key"))),
                *(
                    Exists(ready),
                    Exists(begun_runs),
                    Exists(begun_runs.ending(at)),
                    Exists(to_stop),
                ),
            )
            .get()
        )
        is_ready, has_begun, has_ending, has_to_stop = has
        if not is_admitted:
            self.leave(at=at)
            self.closes = KEY_REFUSED
            return [_error("unauthorized", "This key is not valid any more.")]
        is_silent = seen_at <= at - ONLINE_TIMEOUT
        if is_silent and (not has_begun or seen_at <= at - RESULT_TIMEOUT):
            # A run that is leased to a dead connection is lost for a minute each time.
            self.leave(at=at)
            self.closes = SILENT
            return [_error("silent", "Nothing was heard for too long.")]
        if left_at or connection_id != self.connector.connection_id:
            self.closes = REPLACED
            return [_error("replaced", "Another connection of this machine took its place.")]
        # Heartbeats wait behind a result that takes long to send. One that comes says what is here;
        # a poll comes beside them.
        if has_ending and (is_silent or self.transport == "poll"):
            run_queue.extend_begun(self.connector, at=at)
        frames = self._stop(to_stop, at=at) if has_to_stop else []
        if is_ready and draining_at is None and not is_silent:
            frames += _task_frames(run_queue.lease(self.connector, at=at))
        return frames

    def leave(self, *, at: datetime) -> None:
        """Notes that the connection is gone. Leases stay until they end, because the connector may
        come back."""
        if self.connector:
            connectors = Connector.objects.filter(connection_id=self.connector.connection_id)
            connectors.filter(left_at__isnull=True).update(left_at=at)

    @transaction.atomic
    def _hello(self, frame: Fields, at: datetime) -> list[Json]:
        if frame.get("protocol") != PROTOCOL:
            self.closes = OTHER_PROTOCOL
            return [_error("protocol", f"This relay speaks protocol {PROTOCOL}.")]
        agent, named = self.key.agent, frame.ids("agents")
        if named and agent.agent_id not in named:
            self.closes = OTHER_AGENT
            return [_error("agent_mismatch", f"This key is {agent.agent_id}'s.")]
        transitions.lock_agent(agent)  # before its connector, in the order of lease()
        capacity = frame.number("capacity", low=1) or 1
        fields = {
            "key": self.key,
            "connection_id": uuid.uuid4(),
            "machine": frame.text("machine")[:80],
            "transport": self.transport,
            "capacity": min(capacity, CAPACITY_AT_MOST),
            "address": self.address,
            "seen_at": at,
            "left_at": None,
            "draining_at": None,
        }
        is_first = frame.flag("first") or False  # of its process
        if is_first:
            fields["connected_at"] = at
        connector, _ = Connector.objects.update_or_create(
            agent=agent,
            instance_id=frame.needed("instance_id", longest=64),
            defaults=fields,
            create_defaults=fields | {"connected_at": at},
        )
        if not _takes_its_machine(connector, at=at):
            Connector.objects.filter(pk=connector.pk).update(left_at=at)
            self.closes = REPLACED
            return [_error("replaced", "A newer connector of this machine is there.")]
        self.connector = connector
        runs, leases = _uuids(frame, "last_dispatch_ids"), _uuids(frame, "last_lease_ids")
        for run in run_queue.resume(connector, runs, leases, at=at):
            if run.started_at and run.lease:
                reports.begin(run, run.lease, at=at)
        if is_first:
            lost_runs.take_back_of(connector, but=runs, at=at)
        return [
            {
                "type": "welcome",
                "protocol": PROTOCOL,
                "agent": agent.agent_id,
                "heartbeat_s": int(run_queue.HEARTBEAT.total_seconds()),
                "lease_s": int(run_queue.LEASE.total_seconds()),
                "frame_bytes": settings.WAKE_MAX_A2A_BYTES,
                "pieces": True,
            }
        ]

    def _ack(self, frame: Fields, at: datetime) -> list[Json]:
        run, lease = self._named(frame)
        try:
            reports.begin(run, lease, at=at)
        except LeaseLost as reason:
            return [_lost(run, reason, frame)]
        return []

    def _progress(self, frame: Fields, at: datetime) -> list[Json]:
        run, lease = self._named(frame)
        try:
            reports.record_progress(run, lease, frame.value, at=at)
        except LeaseLost as reason:
            return [_lost(run, reason, frame)]
        except ResultTooLarge as reason:
            return self._refuse("too_much", str(reason), frame.value)
        return []

    def _result(self, frame: Fields, at: datetime) -> list[Json]:
        """Answers `done` as soon as this result is not needed any more: it is stored, it was stored
        before, or it came too late."""
        run, lease = self._named(frame)
        reports.finish(run, lease, frame.value, at=at)
        run.refresh_from_db(fields=["state"])
        if run.state in {Run.State.DONE, Run.State.EXPIRED}:
            return [{"type": "done", "dispatch_id": str(run.pk)}]
        return [_lost(run, LeaseLost(LeaseLost.__doc__), frame)]

    def _heartbeat(self, frame: Fields, at: datetime) -> list[Json]:
        if self.connector:
            run_queue.extend_named(self.connector, _uuids(frame, "dispatch_ids"), at=at)
        return []

    def _pong(self, frame: Fields, at: datetime) -> list[Json]:
        return []

    def _drain(self, frame: Fields, at: datetime) -> list[Json]:
        if self.connector:
            Connector.objects.filter(pk=self.connector.pk).update(draining_at=at)
        return []

    def _seen(self, at: datetime) -> None:
        if self.connector:
            Connector.objects.filter(pk=self.connector.pk).update(seen_at=at)

    def _refuse(self, code: str, why: str, about: Any) -> list[Json]:
        """Answers a frame with an error. If it was a piece of an artifact, its run notes that."""
        try:
            frame = Fields(about, "frame")
            run, lease = self._named(frame)
            number = frame.number("n", low=1, high=HIGHEST_NUMBER)
        except (InvalidParams, RunUnknown):
            number = None
        if number and frame.get("type") == "progress" and frame.get("artifact") is not None:
            reports.note_refused(run, lease, number)
        return [_error(code, why, about)]

    def _named(self, frame: Fields) -> tuple[Run, uuid.UUID]:
        """Returns the run of this agent that a frame names, and the lease; raises InvalidParams,
        RunUnknown."""
        run_id = _uuid(frame, "dispatch_id")
        run = Run.objects.filter(pk=run_id, agent=self.key.agent_id).first()
        if run is None:
            raise RunUnknown(RunUnknown.__doc__)
        return run, _uuid(frame, "lease_id")

    def _stop(self, runs: Any, *, at: datetime) -> list[Json]:
        run_ids = list(runs.values_list("pk", flat=True))
        Run.objects.filter(pk__in=run_ids).update(cancel_told_at=at)
        return [{"type": "cancel", "dispatch_id": str(pk)} for pk in run_ids]


def _task_frames(runs: list[Run]) -> list[Json]:
    """Writes each run by itself: one that cannot be written does not hold the others back, and its
    lease ends in a minute."""
    frames = []
    for run in runs:
        try:
            frames.append(task_frame(run))
        except Exception as error:
            if outages.is_away(error):
                raise
            logger.exception("The run %s cannot be sent", run.pk)
    return frames


def task_frame(run: Run) -> Json:
    """Returns a run with everything that its command gets. A person's decision stands beside the
    message, so that no caller can forge it."""
    task, message = run.task, _message(run.message)
    of_caller = task.messages.filter(source=Message.Source.CALLER, pk__lte=run.message_id)
    newest = of_caller.last()  # a person's answer names no modes
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
        "referenceTaskIds": newest.reference_task_ids if newest else [],
        "attempt": run.attempts,
        "timeout_s": Card.objects.values_list("timeout_seconds", flat=True).get(agent=run.agent),
    }


def _takes_its_machine(connector: Connector, *, at: datetime) -> bool:
    """Returns whether this connector was started later than every other connector of its machine,
    which it then replaces. A machine without a name replaces none."""
    if not connector.machine:
        return True
    same = Connector.objects.filter(agent=connector.agent_id, machine=connector.machine)
    others = same.exclude(pk=connector.pk)
    if others.online(at).filter(connected_at__gt=connector.connected_at).exists():
        return False
    others.filter(left_at__isnull=True).update(left_at=at)
    return True


def _strictly(text: str) -> Any:
    """Parses JSON; raises Malformed."""
    if len(text) > settings.WAKE_MAX_A2A_BYTES:
        raise Malformed(f"It is longer than {settings.WAKE_MAX_A2A_BYTES:,} bytes.")
    return parse_strictly(text.encode(errors="replace"))


def _leniently(text: str) -> Json:
    """Returns the members of a frame that say which run it belongs to, and which piece of an
    artifact it is, where it can be parsed at all."""
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(frame, dict):
        return {}
    names = ("type", "dispatch_id", "lease_id", "n", "artifact")
    return {name: frame.get(name) for name in names}


def _message(message: Message) -> Json:
    parts = [{"type": _kind(part)} | part for part in blobs.with_urls(message.parts)]
    body: Json = {"role": message.role, "messageId": message.message_id, "parts": parts}
    return body | ({"metadata": message.metadata} if message.metadata else {})


def _kind(part: Json) -> str:
    """Returns the kind of a part, which connectors read as `type`."""
    return next((kind for kind in ("text", "data") if kind in part), "file")


def _uuid(frame: Fields, name: str) -> uuid.UUID:
    value = uuid_or_none(frame.needed(name))
    if value is None:
        raise frame.wrong(name, "Must be a UUID.")
    return value


def _uuids(frame: Fields, name: str) -> list[uuid.UUID]:
    """Leaves out what is no UUID: a connector may remember runs of another relay."""
    return [uuid for text in frame.ids(name) if (uuid := uuid_or_none(text))]


def _lost(run: Run, reason: LeaseLost, frame: Fields) -> Json:
    return _error("lease_lost", str(reason), frame.value | {"dispatch_id": str(run.pk)})


def _error(code: str, message: str, about: Any = None) -> Json:
    """Returns an error frame, with the id of the run that the frame `about` names. An error about
    progress also has its number: the connector may have sent the result of the run meanwhile."""
    named: Json = {}
    if isinstance(about, dict):
        run, number = about.get("dispatch_id"), about.get("n")
        if isinstance(run, str):
            named["dispatch_id"] = run[:LONGEST_ID]
        if about.get("type") == "progress" and type(number) is int:
            named["n"] = number
    return {"type": "error", "code": code, "message": message} | named
