"""Makes kombu's folder of messages, a Celery broker that needs no server, safe against kill -9.

Kombu writes messages, and the table of its queues, in place. A process that reads a message before
it is complete crashes, and so does every process that starts after one was killed while it wrote
the table.
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
        """Writes a message so that other processes see it whole or not at all."""
        part = Path(self.data_folder_out) / f"{time.time_ns()}_{uuid.uuid4()}.part"
        part.write_text(dumps(payload))
        part.rename(part.with_suffix(f".{queue}.msg"))

    def _queue_bind(self, *binding: Any) -> None:
        """Does nothing: each process declares its queue first, so the table in memory is enough."""

    def get_table(self, exchange: str) -> Any:
        """Returns the table in memory instead of the one in the folder."""
        return virtual.Channel.get_table(self, exchange)


class Transport(filesystem.Transport):
    Channel = Channel


TRANSPORT_ALIASES["folder"] = "wake.server.work.folder_broker:Transport"
