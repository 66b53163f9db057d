"""Formats log lines as JSON, one object a line (WAKE_LOG=json).

No library does this here. Libraries write every attribute that a caller added to its record, and
Celery, for example, adds the arguments and the result of a job.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from wake.api import log_context
from wake.server.telemetry.lines import LineFormatter, message_of

# The attribute of a record with further members of its line: `extra={EXTRA: {"status": 201}}`.
EXTRA = "wake"


class JsonFormatter(LineFormatter):
    """Writes the same text as LineFormatter, and what is known about the request or job."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": message_of(record),
            **log_context.current().logged(),
            **getattr(record, EXTRA, {}),
        }
        if record.exc_info and (error := self.formatException(record.exc_info)):
            line["error"] = error
        # ASCII, because some collectors also end a line at other characters of Unicode.
        return json.dumps(line, default=str)
