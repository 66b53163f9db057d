"""Imitates a connector: it sends frames through a session, at times that the test chooses."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from accounts.models import ApiKey
from relay.connector.session import ConnectorSession
from relay.models import CallerKey, Card, Connector, Task
from relay.protocol.dialects import Incoming
from relay.tasks import sending

T0 = datetime(2027, 3, 1, 9, tzinfo=UTC)
Frame = dict[str, Any]


def after(seconds: float = 0, **more: float) -> datetime:
    return T0 + timedelta(seconds=seconds, **more)


def ask(
    card: Card, caller: CallerKey | None, text: str = "Compare the ten largest.", **given: Any
) -> Task:
    """Sends a message with `task_id` and `context_id`; send() gets the other arguments."""
    ids = {name: given.pop(name) for name in ("task_id", "context_id") if name in given}
    given.setdefault("at", T0)
    message = Incoming(message_id=str(uuid.uuid4()), parts=[{"text": text}], **ids)
    return sending.send(card, caller, message, **given)


class FakeConnector:
    """Imitates a connector that has already sent `hello`, unless `hello` is False."""

    def __init__(self, key: ApiKey, *, at: datetime = T0, hello: bool = True, **said: Any) -> None:
        self.session = ConnectorSession(key, transport="websocket")
        self.said = {"protocol": 1, "instance_id": str(uuid.uuid4()), **said}
        if hello:
            (self.welcome,) = self.send_frame("hello", at=at, **self.said)

    def send_frame(self, kind: str, *, at: datetime = T0, **fields: Any) -> list[Frame]:
        return self.session.receive({"type": kind, **fields}, at=at)

    def look(self, *, at: datetime = T0) -> list[Frame]:
        return self.session.look(at=at)

    def run(self, *, at: datetime = T0) -> Frame:
        """Fetches the one waiting run, acknowledges it and returns its frame."""
        (frame,) = self.look(at=at)
        assert frame["type"] == "task", frame
        assert self.send_frame("ack", at=at, **of(frame)) == []
        return frame

    def end(self, frame: Frame, state: str, *, at: datetime = T0, **result: Any) -> list[Frame]:
        return self.send_frame("result", at=at, **of(frame), state=state, **result)

    @property
    def row(self) -> Connector:
        return Connector.objects.get(instance_id=self.said["instance_id"])


def of(frame: Frame) -> Frame:
    return {name: frame[name] for name in ("dispatch_id", "lease_id")}


def now(task: Task) -> Task:
    """Returns the task as the database has it."""
    return Task.objects.select_related("status_message", "context").get(pk=task.pk)
