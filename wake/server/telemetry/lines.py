"""Formats log lines without the content that people and agents wrote.

Databases, parsers and lookups quote their input in errors: PostgreSQL includes the whole row that
broke a constraint. So a log names the type and the place of an error. It has the message of an
error only if this message is known to be about a server, a file or the code.
"""

from __future__ import annotations

import copy
import logging
import traceback
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import psycopg
from django import db
from psycopg_pool import PoolTimeout

ABOUT_NO_CONTENT = (
    *(AttributeError, ImportError, MemoryError, NameError, OSError, RuntimeError, TypeError),
    *(db.InterfaceError, db.OperationalError),
    *(psycopg.InterfaceError, psycopg.OperationalError, PoolTimeout),
)
# The broker carries only ids and the names of jobs. The metadata documents of clients are public.
ABOUT_OTHERS = (
    *("amqp.", "billiard.exceptions", "kombu.exceptions", "redis.exceptions"),
    "oauth2_provider.cimd",
)

MAX_DEPTH = 5  # levels of nested containers in a line's arguments

CAUSE = "\n\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\n\nDuring handling of the above exception, another exception occurred:\n\n"


class LineFormatter(logging.Formatter):
    """Formats `2026-11-21 09:30:00,123 ERROR   wake.outbox: …`, followed by the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Formats a copy, so that other handlers see the record unchanged."""
        cleaned = copy.copy(record)
        cleaned.msg, cleaned.args, cleaned.exc_text = message_of(record), (), None
        return super().format(cleaned)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's
        return _traceback(ei[1]) if ei[1] else ""


def message_of(record: logging.LogRecord) -> str:
    """Returns the message with each error replaced by its description, also in messages of Celery
    and asyncio."""
    cleaned = copy.copy(record)
    cleaned.msg, cleaned.args = _described(record.msg), _described(record.args)
    message = cleaned.getMessage()
    for error, _ in chain_of(record.exc_info[1] if record.exc_info else None):
        message = message.replace(repr(error), described(error))
    return message


def described(error: BaseException) -> str:
    """Returns `IntegrityError (23505 UniqueViolation, wake_delivery, one_delivery_a_key)`."""
    name = type(error).__qualname__
    driver = error.__cause__ if isinstance(error, db.Error) and error.__cause__ else error
    if code := getattr(driver, "sqlite_errorname", None):
        return f"{name} ({code})"
    if code := getattr(driver, "sqlstate", None):
        diagnostics = getattr(driver, "diag", None)
        where = (
            getattr(diagnostics, f"{part}_name", "") for part in ("table", "column", "constraint")
        )
        return f"{name} ({', '.join(filter(None, [f'{code} {type(driver).__name__}', *where]))})"
    module = type(error).__module__
    is_safe = isinstance(error, ABOUT_NO_CONTENT) or module.startswith(ABOUT_OTHERS)
    return f"{name}: {error}" if is_safe else name


def _described(part: Any, depth: int = MAX_DEPTH) -> Any:
    """Returns the value with each error in it replaced by its description. Values that are nested
    too deeply are left out."""
    if isinstance(part, BaseException):
        return described(part)
    if not isinstance(part, Mapping | list | tuple | set | frozenset):
        return part
    if not depth:
        return "…"
    inside = partial(_described, depth=depth - 1)
    if isinstance(part, Mapping):
        return {inside(key): inside(value) for key, value in part.items()}
    kind = next(kind for kind in (list, tuple, set, frozenset) if isinstance(part, kind))
    return kind(map(inside, part))


def _traceback(error: BaseException) -> str:
    """Formats the tracebacks as Python does, with the original error first."""
    text = ""
    for failure, link in chain_of(error):
        frames = "".join(traceback.format_tb(failure.__traceback__))
        text = f"Traceback (most recent call last):\n{frames}{described(failure)}{link}{text}"
    return text


def chain_of(error: BaseException | None) -> Iterator[tuple[BaseException, str]]:
    """Yields the errors, last error first, each with the text that links it to its cause."""
    seen, link = set(), ""
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error, link
        link = CAUSE if error.__cause__ else CONTEXT
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
