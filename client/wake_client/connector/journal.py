"""What this machine has run, kept through crashes: a dispatch that comes again is answered from
here rather than run again."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

logger = logging.getLogger(__name__)

COMPACT_ABOVE = 1024 * 1024
# Of results that were set aside: the newest.
MOST_KEPT = 20


class JournalInUse(Exception):
    """Another connector writes this journal."""


@dataclass(slots=True)
class Entry:
    """One dispatch. `starts` counts how often its command was begun here; `result` is there once it
    ended, `lease_id` the lease under which it ran."""

    starts: int = 0
    lease_id: str = ""
    result: dict[str, Any] | None = None


class Journal:
    """An append-only file of JSON lines, each on the disk before anything is told to the relay.

    Opened, and when it has grown, it drops what the relay has confirmed. A line that a crash cut
    off is one that nothing was told about, so it is dropped, too. Raises JournalInUse, OSError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _locked(path.with_name(path.name + ".lock"))
        self._entries: dict[str, Entry] = {}
        self._file: Any = None
        self._least = 0
        for line in _lines(path):
            self._read(line)
        self._compact()

    def starts(self, dispatch_id: str) -> int:
        """How often it was begun here, on paper."""
        entry = self._entries.get(dispatch_id)
        return entry.starts if entry else 0

    def result(self, dispatch_id: str) -> dict[str, Any] | None:
        """Of a run that ended here; also one that was set aside."""
        entry = self._entries.get(dispatch_id)
        return entry.result if entry and entry.result else _read_kept(self._kept_in(dispatch_id))

    def unconfirmed(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Dispatch, lease and result of what ended, and the relay has not confirmed."""
        return [
            (dispatch_id, entry.lease_id, entry.result)
            for dispatch_id, entry in self._entries.items()
            if entry.result is not None
        ]

    def start(self, dispatch_id: str) -> None:
        self._write({"event": "started", "dispatch_id": dispatch_id})

    def finish(self, dispatch_id: str, lease_id: str, result: dict[str, Any]) -> None:
        self._write(
            {
                "event": "finished",
                "dispatch_id": dispatch_id,
                "lease_id": lease_id,
                "result": result,
            }
        )

    def confirm(self, dispatch_id: str) -> None:
        """The relay has it: never again to be told."""
        if dispatch_id in self._entries:
            self._write({"event": "confirmed", "dispatch_id": dispatch_id})

    def keep(self, dispatch_id: str, result: dict[str, Any]) -> str:
        """Writes a result that the relay does not take into a file of its own, beside the journal,
        for whoever comes to look for it. Returns its name, and nothing where the disk refuses."""
        path = self._kept_in(dispatch_id)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
                file.write(_bytes(result))
            for old in sorted(path.parent.iterdir(), key=_written_at)[:-MOST_KEPT]:
                old.unlink()
        except OSError as error:
            logger.warning("A result cannot be kept: %s", error)
            return ""
        return str(path)

    def close(self) -> None:
        self._file.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def _kept_in(self, dispatch_id: str) -> Path:
        name = quote(dispatch_id, safe="")[:200] + ".json"
        return self._path.with_name(self._path.name + ".kept") / name

    def _write(self, line: dict[str, Any]) -> None:
        self._read(line)
        try:
            self._file.write(_bytes(line))
            self._file.flush()
            os.fsync(self._file.fileno())
            if self._file.tell() > max(COMPACT_ABOVE, 2 * self._least):
                self._least = self._file.tell()  # also where the disk refuses: not at every line
                self._compact()
        except OSError as error:
            # The run goes on: a result that is told is worth more than one that is only noted.
            logger.warning("The journal cannot be written: %s", error)

    def _compact(self) -> None:
        """Down to what is not confirmed. A crash in the middle leaves the old one."""
        former, self._file = self._file, _rewritten(self._path, self._to_keep())
        self._least = self._file.tell()
        if former:
            former.close()
        _sync_folder(self._path.parent)

    def _read(self, line: dict[str, Any]) -> None:
        dispatch_id = str(line.get("dispatch_id"))
        match line.get("event"):
            case "started":
                self._entries.setdefault(dispatch_id, Entry()).starts += 1
            case "finished":
                entry = self._entries.setdefault(dispatch_id, Entry())
                entry.lease_id, entry.result = str(line["lease_id"]), dict(line["result"])
            case "confirmed":
                self._entries.pop(dispatch_id, None)

    def _to_keep(self) -> Iterator[dict[str, Any]]:
        for dispatch_id, entry in self._entries.items():
            yield from [{"event": "started", "dispatch_id": dispatch_id}] * entry.starts
            if entry.result is not None:
                yield {
                    "event": "finished",
                    "dispatch_id": dispatch_id,
                    "lease_id": entry.lease_id,
                    "result": entry.result,
                }


def _read_kept(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None


def _written_at(path: Path) -> float:
    return path.stat().st_mtime


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise JournalInUse(JournalInUse.__doc__) from error
    return descriptor


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    for line in content.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            logger.warning("The journal has a line that was cut off; it is dropped.")


def _rewritten(path: Path, lines: Iterator[dict[str, Any]]) -> Any:
    """The journal with these lines only, open for more; the old one is there until the new one
    is whole."""
    fresh = path.with_name(path.name + ".new")
    file = open(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "ab")  # noqa: PTH123, SIM115
    try:
        file.writelines(_bytes(line) for line in lines)
        file.flush()
        os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        file.close()
        raise
    return file


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _bytes(line: dict[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"
