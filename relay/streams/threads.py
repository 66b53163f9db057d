"""Asks the database for streams, in a thread that returns its connection at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from channels.db import database_sync_to_async

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result]) -> Result:
    # Any free thread: the sensitive one would be shared by all streams of the process.
    result: Result = await database_sync_to_async(work, thread_sensitive=False)()
    return result
