"""The conversation with one connector, a `wake connect` on somebody's machine: frames in, frames
out, whatever carries them. What is to be remembered between two frames is in rows, so a connector
goes on where it was after either side was started anew.

Frames are JSON objects with a `type`. From the connector: hello, ack, progress, result, heartbeat,
pong, drain; to it: welcome, task, done, cancel, ping, error.
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
from relay import blobs, dispatches, moves, reports
from relay.dispatches import LeaseLost
from relay.fields import LONGEST_ID, Fields, InvalidParams
from relay.history import newest
from relay.models import SEEN_WITHIN, SENDS_WITHIN, Card, Connector, Dispatch, Message
from relay.reports import TooMuchMade
from relay.wire import Json
from wake.connections import DATABASE_AWAY
from wake.parsers import Malformed, parse_strictly

logger = logging.getLogger(__name__)

PROTOCOL = 1
CAPACITY_AT_MOST = 100
# Why a connection ends (RFC 6455, 7.4.2: 4000 and up are an application's own).
KEY_REFUSED, OTHER_AGENT, OTHER_PROTOCOL, SILENT, REPLACED = 4401, 4403, 4406, 4408, 4409


class RunUnknown(Exception):
    """There is no such run of this agent."""


class Session:
    """As long as one key's holder stays. `closes` is why it is over, from then on."""

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
        """Goes on with the connector that said hello under this id, if there is one."""
        rows = Connector.objects.filter(agent=self.key.agent_id, instance_id=instance_id)
        self.connector = rows.filter(left_at__isnull=True).first()
        self._seen(at)

    def read(self, text: str, *, at: datetime) -> list[Json]:
        """Answers one frame, as JSON. One that nothing can be done with, for a reason that nobody
        thought of, is said to be so: a connection that ended over it would begin with it again."""
        try:
            return self._read(text, at=at)
        except DATABASE_AWAY:
            raise
        except Exception:
            logger.exception("A frame of a connector could not be taken")
            return [_error("failed", "Something on our side failed.", _leniently(text))]

    def _read(self, text: str, *, at: datetime) -> list[Json]:
        """A result that could not be kept (it is too long, or the database takes no U+0000) is a
        run that failed: sent again it would be the same."""
        try:
            return self.receive(_strictly(text), at=at)
        except Malformed as reason:
            frame = _leniently(text)
            if frame.get("type") != "result":
                return [_error("malformed", str(reason), frame)]
            why = f"The agent's answer cannot be kept: {reason}"
            return self.receive(frame | {"state": "failed", "text": why}, at=at)

    def receive(self, value: Any, *, at: datetime) -> list[Json]:
        """Answers one frame. What cannot be read is said to be so; what a later protocol may add is
        passed over."""
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
            return [_error("malformed", str(reason), value)]
        except RunUnknown as reason:
            return [_error("unknown_run", str(reason), value)]

    def look(self, *, at: datetime) -> list[Json]:
        """What has come up for this connector: runs, and requests to stop them. Its key is looked
        at first each time, so one that was revoked leases nothing more."""
        if self.connector is None or self.closes:
            return []
        runs = Dispatch.objects.filter(agent=self.connector.agent_id)
        queued = runs.filter(state=Dispatch.State.QUEUED)
        begun = runs.begun_by(self.connector)
        to_stop = runs.to_stop(at).filter(connector=self.connector)
        connection_id, seen_at, left_at, draining_at, is_let_in, *has = (
            Connector.objects.filter(pk=self.connector.pk)
            .values_list(
                *("connection_id", "seen_at", "left_at", "draining_at"),
                Exists(ApiKey.objects.usable(at).filter(pk=OuterRef("key"))),
                *(Exists(queued), Exists(begun), Exists(begun.ending(at)), Exists(to_stop)),
            )
            .get()
        )
        has_queued, has_begun, has_ending, has_to_stop = has
        if not is_let_in:
            self.leave(at=at)
            self.closes = KEY_REFUSED
            return [_error("unauthorized", "This key is not valid any more.")]
        is_silent = seen_at <= at - SEEN_WITHIN
        if is_silent and (not has_begun or seen_at <= at - SENDS_WITHIN):
            # What is leased to a connection that nobody is behind is lost for a minute each time.
            self.leave(at=at)
            self.closes = SILENT
            return [_error("silent", "Nothing was heard for too long.")]
        if left_at or connection_id != self.connector.connection_id:
            self.closes = REPLACED
            return [_error("replaced", "Another connection of this machine took its place.")]
        # Heartbeats wait behind a result that takes long to send. One that comes says what is here;
        # a poll comes beside them.
        if has_ending and (is_silent or self.transport == "poll"):
            dispatches.hold(self.connector, at=at)
        frames = self._stop(to_stop, at=at) if has_to_stop else []
        if has_queued and draining_at is None and not is_silent:
            frames += _told(dispatches.lease(self.connector, at=at))
        return frames

    def leave(self, *, at: datetime) -> None:
        """The connection is gone. The leases stay for as long as they last: it may come back."""
        if self.connector:
            mine = Connector.objects.filter(connection_id=self.connector.connection_id)
            mine.filter(left_at__isnull=True).update(left_at=at)

    @transaction.atomic
    def _hello(self, frame: Fields, at: datetime) -> list[Json]:
        if frame.get("protocol") != PROTOCOL:
            self.closes = OTHER_PROTOCOL
            return [_error("protocol", f"This relay speaks protocol {PROTOCOL}.")]
        agent, named = self.key.agent, frame.ids("agents")
        if named and agent.agent_id not in named:
            self.closes = OTHER_AGENT
            return [_error("agent_mismatch", f"This key is {agent.agent_id}'s.")]
        moves.lock_agent(agent)  # before its connector, as whoever leases it a run does
        capacity = frame.number("capacity", low=1) or 1
        told = {
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
        connector, _ = Connector.objects.update_or_create(
            agent=agent,
            instance_id=frame.needed("instance_id", longest=64),
            defaults=told,
            create_defaults=told | {"connected_at": at},
        )
        if not _takes_its_machine(connector, at=at):
            Connector.objects.filter(pk=connector.pk).update(left_at=at)
            self.closes = REPLACED
            return [_error("replaced", "A newer connector of this machine is there.")]
        self.connector = connector
        runs, leases = _uuids(frame, "last_dispatch_ids"), _uuids(frame, "last_lease_ids")
        for run in dispatches.resume(connector, runs, leases, at=at):
            if run.started_at and run.lease:
                reports.begin(run, run.lease, at=at)
        return [
            {
                "type": "welcome",
                "protocol": PROTOCOL,
                "agent": agent.agent_id,
                "heartbeat_s": int(dispatches.HEARTBEAT.total_seconds()),
                "lease_s": int(dispatches.LEASE.total_seconds()),
                "frame_bytes": settings.WAKE_MAX_A2A_BYTES,
            }
        ]

    def _ack(self, frame: Fields, at: datetime) -> list[Json]:
        run, lease = self._named(frame)
        try:
            reports.begin(run, lease, at=at)
        except LeaseLost as reason:
            return [_lost(run, reason)]
        return []

    def _progress(self, frame: Fields, at: datetime) -> list[Json]:
        run, lease = self._named(frame)
        try:
            reports.get_on(run, lease, frame.value, at=at)
        except LeaseLost as reason:
            return [_lost(run, reason)]
        except TooMuchMade as reason:
            return [_error("too_much", str(reason), frame.value)]
        return []

    def _result(self, frame: Fields, at: datetime) -> list[Json]:
        """`done` as soon as nobody wants this result any more, be it that it is stored, that it was
        stored before, or that it came too late."""
        run, lease = self._named(frame)
        reports.finish(run, lease, frame.value, at=at)
        run.refresh_from_db(fields=["state"])
        if run.state in {Dispatch.State.DONE, Dispatch.State.EXPIRED}:
            return [{"type": "done", "dispatch_id": str(run.pk)}]
        return [_lost(run, LeaseLost(LeaseLost.__doc__))]

    def _heartbeat(self, frame: Fields, at: datetime) -> list[Json]:
        if self.connector:
            dispatches.renew(self.connector, _uuids(frame, "dispatch_ids"), at=at)
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

    def _named(self, frame: Fields) -> tuple[Dispatch, uuid.UUID]:
        """The run of this agent that a frame is about; raises InvalidParams, RunUnknown."""
        run_id = _uuid(frame, "dispatch_id")
        run = Dispatch.objects.filter(pk=run_id, agent=self.key.agent_id).first()
        if run is None:
            raise RunUnknown(RunUnknown.__doc__)
        return run, _uuid(frame, "lease_id")

    def _stop(self, runs: Any, *, at: datetime) -> list[Json]:
        found = list(runs.values_list("pk", flat=True))
        Dispatch.objects.filter(pk__in=found).update(cancel_told_at=at)
        return [{"type": "cancel", "dispatch_id": str(pk)} for pk in found]


def _told(runs: list[Dispatch]) -> list[Json]:
    """Each by itself: one that cannot be told holds no other back, and its lease is over in a
    minute."""
    frames = []
    for run in runs:
        try:
            frames.append(task_frame(run))
        except DATABASE_AWAY:
            raise
        except Exception:
            logger.exception("The run %s cannot be told", run.pk)
    return frames


def task_frame(run: Dispatch) -> Json:
    """A run with all that its command is told. What a person decided stands beside the message, so
    that no caller can say it in their stead."""
    task, message = run.task, _message(run.message)
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
        "messages": [_message(one) for one in newest([task])[task.pk]],
        "decision": run.decision,
        "attempt": run.attempts,
        "timeout_s": Card.objects.values_list("timeout_seconds", flat=True).get(agent=run.agent),
    }


def _takes_its_machine(connector: Connector, *, at: datetime) -> bool:
    """Of two connectors of one machine the one that was started last stays; False where that is
    another one. A machine without a name is nobody's."""
    if not connector.machine:
        return True
    same = Connector.objects.filter(agent=connector.agent_id, machine=connector.machine)
    others = same.exclude(pk=connector.pk)
    if others.online(at).filter(connected_at__gt=connector.connected_at).exists():
        return False
    others.filter(left_at__isnull=True).update(left_at=at)
    return True


def _strictly(text: str) -> Any:
    """Raises Malformed."""
    if len(text) > settings.WAKE_MAX_A2A_BYTES:
        raise Malformed(f"It is longer than {settings.WAKE_MAX_A2A_BYTES:,} bytes.")
    return parse_strictly(text.encode(errors="replace"))


def _leniently(text: str) -> Json:
    """What can be made out of it, without what it says: whose it is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: found.get(name) for name in ("type", "dispatch_id", "lease_id")}


def _message(message: Message) -> Json:
    parts = [{"type": _kind(part)} | part for part in blobs.with_urls(message.parts)]
    found: Json = {"role": message.role, "messageId": message.message_id, "parts": parts}
    return found | ({"metadata": message.metadata} if message.metadata else {})


def _kind(part: Json) -> str:
    """Under `type`, as the agent's own document has it."""
    return next((kind for kind in ("text", "data") if kind in part), "file")


def _uuid(frame: Fields, name: str) -> uuid.UUID:
    try:
        return uuid.UUID(frame.needed(name))
    except ValueError:
        raise frame.wrong(name, "Must be a UUID.") from None


def _uuids(frame: Fields, name: str) -> list[uuid.UUID]:
    """Those that are some: a connector may remember runs of another relay."""
    found = []
    for text in frame.ids(name):
        try:
            found.append(uuid.UUID(text))
        except ValueError:
            continue
    return found


def _lost(run: Dispatch, reason: LeaseLost) -> Json:
    return _error("lease_lost", str(reason), {"dispatch_id": str(run.pk)})


def _error(code: str, message: str, about: Any = None) -> Json:
    """With the run that the frame `about` names, where it does."""
    run = about.get("dispatch_id") if isinstance(about, dict) else None
    named = {"dispatch_id": run[:LONGEST_ID]} if isinstance(run, str) else {}
    return {"type": "error", "code": code, "message": message} | named
