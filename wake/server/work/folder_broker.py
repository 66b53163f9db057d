"""Makes kombu's folder of messages, a Celery broker that needs no server, safe against kill -9.

Kombu writes messages, and the table of its queues, in place. A process that reads a message before
it is complete crashes, and so does every process that starts after one was killed while it wrote
the table.

A job without arguments waits at most once. Beat sends about ten a second. Where a busy SQLite made
the worker slower, each job waited for half a minute, and thousands expired.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem, virtual
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Writes a message so that other processes see it whole or not at all. Writes none for a
        job that waits already: it will start after this moment and find the same rows."""
        folder, headers = Path(self.data_folder_out), payload.get("headers", {})
        name = _job_of(headers)
        suffix = f".{queue}.msg"
        if name:
            if next(folder.glob(f"*_{name}{suffix}"), None):
                return
            headers["expires"] = None  # it may wait for long, but not in a crowd
        part = folder / f"{time.time_ns()}_{uuid.uuid4()}_{name}.part"
        part.write_text(dumps(payload))
        part.rename(part.with_suffix(suffix))

    def _queue_bind(self, *binding: Any) -> None:
        """Does nothing: each process declares its queue first, so the table in memory is enough."""

    def get_table(self, exchange: str) -> Any:
        """Returns the table in memory instead of the one in the folder."""
        return virtual.Channel.get_table(self, exchange)


def _job_of(headers: dict[str, Any]) -> str:
    """Returns the name of a job without arguments as a part of a file name, whose first dot stands
    before the queue; an empty text for everything else."""
    has_arguments = (headers.get("argsrepr"), headers.get("kwargsrepr")) != ("()", "{}")
    name = str(headers.get("task", ""))
    return "" if has_arguments or "/" in name else name.replace(".", "+")


class Transport(filesystem.Transport):
    Channel = Channel


TRANSPORT_ALIASES["folder"] = "wake.server.work.folder_broker:Transport"
