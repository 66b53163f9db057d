"""Notices that tasks have new events, for all streams of this process together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from uuid import UUID

from database.clock import database_now
from relay.cards.topics import ACCESS_TOPIC
from relay.streams import reading
from relay.tasks.transitions import topic_of
from wake.api.watches import Watch


class Follower:
    """A stream that waits for events of one task after the generation `seen`."""

    def __init__(self, task_id: UUID, seen: int) -> None:
        self.task_id = task_id
        self.seen = seen
        self.is_admitted = True
        self.woken = asyncio.Event()

    @property
    def keys(self) -> Collection[UUID]:
        return [self.task_id]

    def note(self, found: Mapping[UUID, int]) -> None:
        """Takes the newest generation of the task, which is missing if its caller may not ask any
        more."""
        generation = found.get(self.task_id)
        self.is_admitted = generation is not None
        if generation is None or generation > self.seen:
            self.woken.set()


class TaskWatch(Watch[UUID, Follower]):
    COMMON_TOPIC = ACCESS_TOPIC

    def topic_of(self, key: UUID) -> str:
        return topic_of(key)

    def read(self, keys: set[UUID], followers: set[Follower]) -> Mapping[UUID, int]:
        return reading.generations(keys, at=database_now())


def watch() -> TaskWatch:
    """Returns the watch of the running event loop."""
    return TaskWatch.here()
