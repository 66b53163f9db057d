"""Reads and replaces small JSON files whole, so that a crash leaves no partial file."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def state_file(variables: Mapping[str, str], name: str) -> Path:
    """Returns the path of a file that is kept between two starts of a program."""
    home = variables.get("HOME", "~")
    folder = variables.get("XDG_STATE_HOME") or str(Path(home) / ".local" / "state")
    return Path(folder).expanduser() / "wake" / name


def write_whole(path: Path, text: str, *, mode: int) -> None:
    """Replaces a file in one step, so that no reader sees half of it. If the path is a symbolic
    link, the link is kept and its target is replaced."""
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
    """Prevents other processes from changing a file between its reading and its writing. The lock
    is a separate file, because the file itself is replaced. Raises OSError."""
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def try_locked(path: Path) -> Iterator[bool]:
    """Yields whether this process got the lock of a file (see `locked`), without waiting for it.
    The lock ends with the process. Raises OSError."""
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
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
