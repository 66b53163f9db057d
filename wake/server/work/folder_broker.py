"""Adapts kombu's folder of messages, a Celery broker that needs no server, so that the broker
survives kill -9.

Kombu writes messages, and the table of its queues, in place. A process that reads an incomplete
message crashes. If a process is killed while it writes the table, every process that starts
afterwards crashes, too.

At most one message waits for each job without arguments. Beat sends about ten jobs a second. Before
this limit, when a busy SQLite slowed the worker down, each job waited for half a minute, and
thousands expired.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem, virtual
from kombu.utils.json import dumps


class FolderChannel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Writes a message so that other processes see it whole or not at all. Writes nothing for a
        job that waits already: that job will start after this moment and find the same rows."""
        folder, headers = Path(self.data_folder_out), payload.get("headers", {})
        name = _job_of(headers)
        suffix = f".{queue}.msg"
        if name:
            if next(folder.glob(f"*_{name}{suffix}"), None):
                return
            headers["expires"] = None  # the job may wait for long, but only once
        part = folder / f"{time.time_ns()}_{uuid.uuid4()}_{name}.part"
        part.write_text(dumps(payload))
        part.rename(part.with_suffix(suffix))

    def _queue_bind(self, *binding: Any) -> None:
        """Does nothing: each process declares its queue first, so the table in memory is enough."""

    def get_table(self, exchange: str) -> Any:
        """Returns the table of bindings that is kept in memory, instead of the table in the
        folder."""
        return virtual.Channel.get_table(self, exchange)


def _job_of(headers: dict[str, Any]) -> str:
    """Returns the name of a job without arguments, in a form that can be a part of a file name: it
    has no dot, because the first dot of the file name stands before the queue. Returns an empty
    text for a job with arguments."""
    has_arguments = (headers.get("argsrepr"), headers.get("kwargsrepr")) != ("()", "{}")
    name = str(headers.get("task", ""))
    return "" if has_arguments or "/" in name else name.replace(".", "+")


class FolderTransport(filesystem.Transport):
    Channel = FolderChannel


TRANSPORT_ALIASES["folder"] = "wake.server.work.folder_broker:FolderTransport"
