"""Lists the hosts of callbacks that need attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inbox.callbacks.callbacks import HostSummary
from pages.attention import Note
from wake.models import FailingTarget

FAILING = {"expired", "rejected"}  # the tones of states that have ended without success


def notes_of(suspended: Sequence[FailingTarget], targets: Sequence[HostSummary]) -> list[Note]:
    return [*_suspended(suspended), *_failing(targets)]


def _suspended(targets: Sequence[FailingTarget]) -> Iterator[Note]:
    for target in targets:
        words = f"{target.host} is suspended after repeated failures. Resume it once it works."
        yield Note(words, "#suspended")


def _failing(targets: Sequence[HostSummary]) -> Iterator[Note]:
    for target in targets:
        if target.waiting and target.latest.tone in FAILING:
            reason = f" ({target.latest.error.rstrip('.')})" if target.latest.error else ""
            yield Note(f"{target.host}: {target.latest.text}{reason}.", "#endpoints")
