"""What the relay is owed: the results that it has not confirmed, and how often each was told."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

from wake_client.connector.journal import Journal
from wake_client.connector.results import Outcome

MOST_TRIES = 5
# Of the first two each is on the next best connection: most are lost with a connection that is cut
# for another reason. One that cuts it itself, because it is too long for something on the way,
# leaves room for the others after that.
TRIES_AT_ONCE = 2
# A minute, with a heartbeat every 15 seconds; and for a long one what it takes up a slow line. (Of
# that no other sign is to be had: the system takes megabytes off our hands at once.)
BEATS_TO_CONFIRM = 4
BYTES_IN_A_BEAT = 512 * 1024

Result = tuple[str, str, Outcome]


@dataclass(slots=True)
class Told:
    """How often, how many heartbeats ago the last time was, and how many it may take from when it
    was handed to a connection (0: that one is lost)."""

    tries: int = 0
    beats: int = 0
    patience: int = 0


class Owed:
    """The results themselves, each a dispatch, its lease and the outcome, are in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._told: defaultdict[str, Told] = defaultdict(Told)
        self._due: set[str] = set()

    @property
    def is_due(self) -> bool:
        return bool(self._due)

    @property
    def is_long_on_its_way(self) -> bool:
        """Whether there is a long one that may still be going up."""
        return any(
            told.patience > BEATS_TO_CONFIRM and told.beats < told.patience
            for told in self._told.values()
        )

    def tell(self, dispatch_id: str) -> None:
        """As soon as there is a connection for it."""
        self._due.add(dispatch_id)

    def told(self, dispatch_id: str) -> list[Result]:
        """The result of that run, where it is here and was told."""
        tries = self._told[dispatch_id].tries if dispatch_id in self._told else 0
        return [one for one in self._journal.unconfirmed() if tries and one[0] == dispatch_id]

    def in_vain(self, dispatch_id: str) -> None:
        """The relay had it and could do nothing with it: there is no more to wait for, and the next
        try is a few heartbeats away."""
        self._told[dispatch_id].patience = 0

    def settle(self, dispatch_id: str) -> None:
        """It is never told again."""
        self._journal.confirm(dispatch_id)
        self._told.pop(dispatch_id, None)
        self._due.discard(dispatch_id)

    def resume(self) -> None:
        """On a new connection, where nothing is on its way."""
        for told in self._told.values():
            told.patience = 0
        held = [dispatch_id for dispatch_id, _, _ in self._journal.unconfirmed()]
        self._due = {one for one in held if self._told[one].tries < TRIES_AT_ONCE}

    def beat(self) -> list[Result]:
        """One heartbeat later: what is still not confirmed is to be told again. Returns what was
        told often enough."""
        hopeless = []
        for result in self._journal.unconfirmed():
            dispatch_id, told = result[0], self._told[result[0]]
            if dispatch_id in self._due:
                continue
            told.beats += 1
            if told.beats < max(told.patience, BEATS_TO_CONFIRM):
                continue
            if told.tries < MOST_TRIES:
                self._due.add(dispatch_id)
            else:
                hopeless.append(result)
        return hopeless

    def next(self) -> list[Result]:
        """What is to be sent now: short ones first, and one that was told in vain behind all others
        and alone, so that what it does to the connection is held against no other."""
        due = [
            (self._told[one[0]], len(json.dumps(one[2])), one)
            for one in self._journal.unconfirmed()
            if one[0] in self._due
        ]
        due.sort(key=lambda each: (each[0].tries, each[1]))
        found = [each for each in due if not each[0].tries] or due[:1]
        for told, length, _ in found:
            told.tries += 1
            told.beats = 0
            told.patience = BEATS_TO_CONFIRM + length // BYTES_IN_A_BEAT
        self._due = {one[0] for _, _, one in due} - {one[0] for _, _, one in found}
        return [one for _, _, one in found]
