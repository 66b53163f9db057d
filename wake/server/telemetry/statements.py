"""Groups the statements of a request or job by what they do to which table, for its spans.

A page runs a dozen statements and a sweep hundreds, so a span for each would cost more than the
statements. A group has no values: only words of SQL and the names of Wake's tables.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

WORD = re.compile(r"\s*(\w+)", re.ASCII).match
# A chain of writes is one statement (database/write_chains.py). Its first write names the group.
WRITE = re.compile(r'\b(INSERT) INTO "(\w+)"|\b(UPDATE) "(\w+)"|\b(DELETE) FROM "(\w+)"', re.ASCII)
TABLE = re.compile(r'\bFROM "(\w+)"', re.ASCII).search


@dataclass(slots=True)
class Group:
    """Describes statements of one kind. Times are in nanoseconds since 1970; `took` is the time of
    the statements alone."""

    operation: str
    table: str
    began: int
    ended: int = 0
    took: int = 0
    count: int = 0

    @property
    def is_write(self) -> bool:
        return self.operation in {"INSERT", "UPDATE", "DELETE"}


Groups = dict[tuple[str, str], Group]
_groups: ContextVar[Groups | None] = ContextVar("groups", default=None)


def begin() -> Token[Groups | None]:
    """Groups the statements of this request or job from now on."""
    return _groups.set({})


def end(token: Token[Groups | None]) -> list[Group]:
    """Returns the groups since `begin`, in the order in which they began."""
    groups = _groups.get() or {}
    _groups.reset(token)
    return list(groups.values())


def measure(execute: Callable[..., Any], sql: Any, params: Any, many: Any, context: Any) -> Any:
    """Runs one statement, as a wrapper of Django's connection."""
    groups = _groups.get()
    if groups is None:
        return execute(sql, params, many, context)
    began = time.time_ns()
    try:
        return execute(sql, params, many, context)
    finally:
        ended = time.time_ns()
        key = described(str(sql))
        group = groups.get(key) or groups.setdefault(key, Group(*key, began))
        group.ended, group.count = ended, group.count + 1
        group.took += ended - began


@lru_cache(maxsize=2_000)
def described(sql: str) -> tuple[str, str]:
    """Returns the operation and the table, such as `INSERT` and `wake_delivery`. The table is empty
    if the statement has none."""
    if write := WRITE.search(sql):
        operation, table = filter(None, write.groups())
        return operation, table
    word, table_name = WORD(sql), TABLE(sql)
    return (word[1].upper() if word else "", table_name[1] if table_name else "")
