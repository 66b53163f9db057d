"""Talks to one connector, a `wake connect` process. Frames come in and go out over either
transport.

All state between two frames is in rows, so a connector continues where it was after either side has
restarted. Frames are JSON objects with a `type`. The connector sends hello, ack, progress, result,
heartbeat, pong and drain. The connector receives welcome, task, done, cancel, ping and error.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import Agent, ApiKey
from database import outages
from relay.connector.frames import (
    error_frame,
    lost_frame,
    needed_uuid,
    read_leniently,
    read_strictly,
    task_frames,
    uuids,
)
from relay.models import ONLINE_TIMEOUT, RESULT_TIMEOUT, Card, Connector, Run
from relay.protocol.dialects import Json
from relay.protocol.fields import Fields, InvalidParams
from relay.runs import queue as run_queue
from relay.runs.queue import LeaseLost
from relay.runs.results import HIGHEST_NUMBER
from relay.tasks import lost_runs, reports, transitions
from relay.tasks.artifacts import ResultTooLarge
from wake.api.parsers import Malformed

logger = logging.getLogger(__name__)

PROTOCOL = 1
MAX_CAPACITY = 100
# Why a connection ends (RFC 6455, 7.4.2: codes from 4000 are for applications).
KEY_REFUSED, OTHER_AGENT, OTHER_PROTOCOL, SILENT, REPLACED = 4401, 4403, 4406, 4408, 4409


class RunUnknown(Exception):
    """There is no such run of this agent."""


class ConnectorSession:
    """Serves one connection of one key. `closes` is None until the connection must end, and then
    holds the code of the reason."""

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
        """Continues the session of the connector that sent hello with this id, if there is one."""
        rows = Connector.objects.filter(agent=self.key.agent_id, instance_id=instance_id)
        self.connector = rows.filter(left_at__isnull=True).first()
        self._seen(at)

    def read(self, text: str, *, at: datetime) -> list[Json]:
        """Answers one frame, given as JSON text. An unexpected error is reported to the connector
        as `failed`. The error does not end the connection, because the next connection would begin
        with the same frame."""
        try:
            return self._read(text, at=at)
        except Exception as error:
            if outages.will_pass(error):
                raise  # the connector sends the frame again on its next connection
            logger.exception("A frame of a connector could not be taken")
            return self._refuse("failed", "Something on our side failed.", read_leniently(text))

    def _read(self, text: str, *, at: datetime) -> list[Json]:
        """Answers one frame. A result that is too long or contains U+0000 cannot be stored. The run
        of such a result fails, because sending the same result again would not help."""
        try:
            return self.receive(read_strictly(text), at=at)
        except Malformed as reason:
            frame = read_leniently(text)
            if frame.get("type") != "result":
                return self._refuse("malformed", str(reason), frame)
            why = f"The agent's answer cannot be stored: {reason}"
            return self.receive(frame | {"state": "failed", "text": why}, at=at)

    def receive(self, value: Any, *, at: datetime) -> list[Json]:
        """Answers one frame. An invalid frame is answered with an error. An unknown type, which a
        later protocol may add, is ignored."""
        try:
            frame = Fields(value, "frame")
            take = self._takes.get(frame.text("type"))
            if take is None:
                return []
            if self.connector is None and take != self._hello:
                return [error_frame("hello_first", "Say hello before anything else.")]
            self._seen(at)
            return take(frame, at)
        except InvalidParams as reason:
            return self._refuse("malformed", str(reason), value)
        except RunUnknown as reason:
            return [error_frame("unknown_run", str(reason), value)]

    def look(self, *, at: datetime) -> list[Json]:
        """Returns new frames for this connector: runs, and requests to stop them. The connector's
        key is checked first each time, so a revoked key leases no more runs."""
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
            return [error_frame("unauthorized", "This key is not valid any more.")]
        is_silent = seen_at <= at - ONLINE_TIMEOUT
        if is_silent and (not has_begun or seen_at <= at - RESULT_TIMEOUT):
            # A run that is leased to a dead connection is delayed for a minute each time.
            self.leave(at=at)
            self.closes = SILENT
            return [error_frame("silent", "Nothing was heard for too long.")]
        if left_at or connection_id != self.connector.connection_id:
            self.closes = REPLACED
            return [error_frame("replaced", "Another connection of this machine took its place.")]
        # A heartbeat extends the leases of the runs that it lists. While a connector sends a long
        # result, no heartbeat arrives, so the leases are extended here. Over polls, the leases are
        # always extended here, because polls arrive even while a long result is being sent.
        if has_ending and (is_silent or self.transport == "poll"):
            run_queue.extend_begun(self.connector, at=at)
        frames = self._stop(to_stop, at=at) if has_to_stop else []
        if is_ready and draining_at is None and not is_silent:
            frames += task_frames(run_queue.lease(self.connector, at=at))
        return frames

    def leave(self, *, at: datetime) -> None:
        """Records that the connection is gone. Leases stay until they end, because the connector
        may come back."""
        if self.connector:
            connectors = Connector.objects.filter(connection_id=self.connector.connection_id)
            connectors.filter(left_at__isnull=True).update(left_at=at)

    @transaction.atomic
    def _hello(self, frame: Fields, at: datetime) -> list[Json]:
        if frame.get("protocol") != PROTOCOL:
            self.closes = OTHER_PROTOCOL
            return [error_frame("protocol", f"This relay speaks protocol {PROTOCOL}.")]
        agent, named = self.key.agent, frame.ids("agents")
        if named and agent.agent_id not in named:
            self.closes = OTHER_AGENT
            return [error_frame("agent_mismatch", f"This key is {agent.agent_id}'s.")]
        transitions.lock_agent(agent)  # locks the agent before the connector, as lease() does
        capacity = frame.number("capacity", low=1) or 1
        fields = {
            "key": self.key,
            "connection_id": uuid.uuid4(),
            "machine": frame.text("machine")[:80],
            "transport": self.transport,
            "capacity": min(capacity, MAX_CAPACITY),
            "address": self.address,
            "seen_at": at,
            "left_at": None,
            "draining_at": None,
        }
        is_first = frame.flag("first") or False  # the first hello of this process
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
            return [error_frame("replaced", "A newer connector of this machine is there.")]
        self.connector = connector
        runs, leases = uuids(frame, "last_dispatch_ids"), uuids(frame, "last_lease_ids")
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
                "max_concurrency": _max_concurrency(agent),
            }
        ]

    def _ack(self, frame: Fields, at: datetime) -> list[Json]:
        run, lease = self._named(frame)
        try:
            reports.begin(run, lease, at=at)
        except LeaseLost as reason:
            return [lost_frame(run, reason, frame)]
        return []

    def _progress(self, frame: Fields, at: datetime) -> list[Json]:
        run, lease = self._named(frame)
        try:
            reports.record_progress(run, lease, frame.value, at=at)
        except LeaseLost as reason:
            return [lost_frame(run, reason, frame)]
        except ResultTooLarge as reason:
            return self._refuse("too_much", str(reason), frame.value)
        return []

    def _result(self, frame: Fields, at: datetime) -> list[Json]:
        """Answers `done` as soon as the connector need not send this result again: it is stored
        now, was stored before, or came too late."""
        run, lease = self._named(frame)
        reports.finish(run, lease, frame.value, at=at)
        run.refresh_from_db(fields=["state"])
        if run.state in {Run.State.DONE, Run.State.EXPIRED}:
            return [{"type": "done", "dispatch_id": str(run.pk)}]
        return [lost_frame(run, LeaseLost(LeaseLost.__doc__), frame)]

    def _heartbeat(self, frame: Fields, at: datetime) -> list[Json]:
        if self.connector:
            run_queue.extend_named(self.connector, uuids(frame, "dispatch_ids"), at=at)
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
        """Answers a frame with an error. If the frame was a piece of an artifact, the run records
        that."""
        try:
            frame = Fields(about, "frame")
            run, lease = self._named(frame)
            number = frame.number("n", low=1, high=HIGHEST_NUMBER)
        except (InvalidParams, RunUnknown):
            number = None
        if number and frame.get("type") == "progress" and frame.get("artifact") is not None:
            reports.record_refused(run, lease, number)
        return [error_frame(code, why, about)]

    def _named(self, frame: Fields) -> tuple[Run, uuid.UUID]:
        """Returns the run of this agent that a frame names, and the lease; raises InvalidParams,
        RunUnknown."""
        run_id = needed_uuid(frame, "dispatch_id")
        run = Run.objects.filter(pk=run_id, agent=self.key.agent_id).first()
        if run is None:
            raise RunUnknown(RunUnknown.__doc__)
        return run, needed_uuid(frame, "lease_id")

    def _stop(self, runs: Any, *, at: datetime) -> list[Json]:
        run_ids = list(runs.values_list("pk", flat=True))
        Run.objects.filter(pk__in=run_ids).update(cancel_told_at=at)
        return [{"type": "cancel", "dispatch_id": str(pk)} for pk in run_ids]


def _max_concurrency(agent: Agent) -> int | None:
    """Returns how many runs of the agent may execute at a time on all its machines together, or
    None if it has no card."""
    return Card.objects.filter(agent=agent).values_list("max_concurrency", flat=True).first()


def _takes_its_machine(connector: Connector, *, at: datetime) -> bool:
    """Returns whether this connector started later than every other connector of its machine. This
    connector then replaces the others. A machine without a name replaces none."""
    if not connector.machine:
        return True
    same = Connector.objects.filter(agent=connector.agent_id, machine=connector.machine)
    others = same.exclude(pk=connector.pk)
    if others.online(at).filter(connected_at__gt=connector.connected_at).exists():
        return False
    others.filter(left_at__isnull=True).update(left_at=at)
    return True
