"""Reads and replaces small JSON files whole, so that a crash leaves no half of one."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def write_whole(path: Path, text: str, *, mode: int) -> None:
    """Replaces a file in one step, so that nothing reads half of it. A symbolic link is kept."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps other processes from changing a file between its reading and its writing. The lock is a
    file beside it, because the file itself is replaced. Raises OSError."""
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def stored_json(path: Path) -> Any:
    """Returns the JSON of a file, or {} if there is no file. Raises ValueError for any other
    content."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}), so it was not changed.") from error
