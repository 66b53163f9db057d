"""Notices new events of tasks, for all streams of this process together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from uuid import UUID

from database.clock import database_now
from relay.cards.topics import ACCESS_TOPIC
from relay.streams import reading
from relay.tasks.transitions import topic_of
from wake.api.watches import Watch


class TaskFollower:
    """Describes a stream that waits for events of one task after the generation `seen`."""

    def __init__(self, task_id: UUID, seen: int) -> None:
        self.task_id = task_id
        self.seen = seen
        self.is_admitted = True
        self.woken = asyncio.Event()

    @property
    def keys(self) -> Collection[UUID]:
        return [self.task_id]

    def notify(self, found: Mapping[UUID, int]) -> None:
        """Takes the newest generation of the task. `found` lacks the task if its caller may not
        call the agent any more."""
        generation = found.get(self.task_id)
        self.is_admitted = generation is not None
        if generation is None or generation > self.seen:
            self.woken.set()


class TaskWatch(Watch[UUID, TaskFollower]):
    COMMON_TOPIC = ACCESS_TOPIC

    def topic_of(self, key: UUID) -> str:
        return topic_of(key)

    def read(self, keys: set[UUID], followers: set[TaskFollower]) -> Mapping[UUID, int]:
        return reading.generations(keys, at=database_now())


def watch() -> TaskWatch:
    """Returns the watch of the running event loop."""
    return TaskWatch.here()
