"""Collects the pieces of artifacts that a command reports while it works.

Pieces are sent in the order in which they came, each under a number. The result contains all pieces
again, and the relay ignores the numbers that it already has. So a lost connection neither loses a
piece nor adds one twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wake_client.connector.progress import PAUSE_PER_RUN_SECOND

Artifact = dict[str, Any]

# Pieces within this time are sent together, because a task has a limit of events.
MIN_PAUSE_SECONDS = 0.25


class Pieces:
    """Holds the pieces of one run. `count` returns the next number, and `at` is always a time in
    seconds on one clock.

    The first piece of an artifact always replaces the task's earlier content, because a run may be
    started again, and the result may be sent again.
    """

    def __init__(self, count: Callable[[], int], *, at: float) -> None:
        self._count = count
        self._started_at = at
        self._sent_at: float | None = None
        self._known: set[str] = set()
        self._waiting: list[Artifact] = []
        self._numbered: list[tuple[int, Artifact]] = []

    def add(self, artifact: Artifact, *, at: float) -> float | None:
        """Adds a piece. Returns in how many seconds to send the piece, or None if another piece
        already waits and the two are sent together."""
        name = artifact["artifactId"]
        if name not in self._known:
            artifact = artifact | {"append": False}
        self._known.add(name)
        is_first = not self._waiting
        if not is_first and _continues(artifact, self._waiting[-1]):
            self._waiting[-1] = _joined(self._waiting[-1], artifact)
        else:
            self._waiting.append(artifact)
        if not is_first:
            return None
        if self._sent_at is None:
            return 0.0
        pause = max(MIN_PAUSE_SECONDS, (at - self._started_at) * PAUSE_PER_RUN_SECOND)
        return max(0.0, self._sent_at + pause - at)

    def next(self, *, at: float) -> list[tuple[int, Artifact]]:
        """Returns the waiting pieces, each with its number."""
        self._sent_at = at
        numbered = [(self._count(), artifact) for artifact in self._waiting]
        self._waiting = []
        self._numbered += numbered
        return numbered

    @property
    def numbered(self) -> list[tuple[int, Artifact]]:
        """Returns all pieces that were sent, even if they did not arrive."""
        return self._numbered

    def for_result(self) -> list[Artifact]:
        """Returns all pieces of the run for its result."""
        self.next(at=0.0)
        return [artifact | {"n": number} for number, artifact in self._numbered]


def _continues(piece: Artifact, before: Artifact) -> bool:
    is_same = piece["artifactId"] == before["artifactId"]
    return is_same and bool(piece.get("append")) and not before.get("lastChunk")


def _joined(before: Artifact, piece: Artifact) -> Artifact:
    """Joins two pieces, and adjacent texts, because an artifact has a limit of parts."""
    first, second = before["parts"], piece["parts"]
    if _is_plain(first[-1]) and _is_plain(second[0]):
        meeting = first[-1] | {"text": first[-1]["text"] + second[0]["text"]}
        parts = [*first[:-1], meeting, *second[1:]]
    else:
        parts = first + second
    return {**before, **piece, "append": before.get("append", False), "parts": parts}


def _is_plain(part: Any) -> bool:
    return isinstance(part, dict) and set(part) == {"text"} and isinstance(part["text"], str)
