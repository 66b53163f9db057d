"""Decides when to send, and to send again, each result that the relay has not confirmed."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

from wake_client.connector.journal import Journal
from wake_client.connector.results import Outcome

MAX_TRIES = 5
# The first two tries may be on two connections in a row, because most results are lost with a
# connection that broke for another reason. But a result may also break the connection itself,
# because the result is too long for a proxy on the way. So after two tries, the next connections
# are for other results.
TRIES_AT_ONCE = 2
# A result has four heartbeats of 15 seconds to be confirmed. A long result has more, because it
# takes longer on a slow line. Nothing else shows the progress of a result, because the operating
# system accepts megabytes immediately.
HEARTBEATS_TO_CONFIRM = 4
BYTES_PER_HEARTBEAT = 512 * 1024

Result = tuple[str, str, Outcome]  # run, lease and outcome


@dataclass(slots=True)
class Sending:
    """Counts the tries of one result, and the heartbeats since the last try. `max_heartbeats` is
    how many heartbeats the try may take (0 if the connection of the try is lost)."""

    tries: int = 0
    heartbeats: int = 0
    max_heartbeats: int = 0


class UnconfirmedResults:
    """Schedules the unconfirmed results of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sending: defaultdict[str, Sending] = defaultdict(Sending)
        self._due: set[str] = set()

    @property
    def has_due(self) -> bool:
        return bool(self._due)

    @property
    def is_sending_long_result(self) -> bool:
        """Returns whether a long result may still be on its way."""
        return any(
            sending.max_heartbeats > HEARTBEATS_TO_CONFIRM
            and sending.heartbeats < sending.max_heartbeats
            for sending in self._sending.values()
        )

    def send_soon(self, run_id: str) -> None:
        """Makes the result due on the next connection."""
        self._due.add(run_id)

    def sent(self, run_id: str) -> list[Result]:
        """Returns the result of this run, if it is unconfirmed and was sent at least once."""
        if run_id not in self._sending or not self._sending[run_id].tries:
            return []
        return [result for result in self._journal.unconfirmed() if result[0] == run_id]

    def try_failed(self, run_id: str) -> None:
        """Ends the wait for a confirmation, because the relay failed to store the result. The next
        try is a few heartbeats away."""
        self._sending[run_id].max_heartbeats = 0

    def confirm(self, run_id: str) -> None:
        """Forgets the result, so that it is never sent again."""
        self._journal.confirm(run_id)
        self._sending.pop(run_id, None)
        self._due.discard(run_id)

    def reconnected(self) -> None:
        """Starts over on a new connection, on which nothing is on its way yet."""
        for sending in self._sending.values():
            sending.max_heartbeats = 0
        run_ids = [run_id for run_id, _, _ in self._journal.unconfirmed()]
        self._due = {run_id for run_id in run_ids if self._sending[run_id].tries < TRIES_AT_ONCE}

    def heartbeat(self) -> list[Result]:
        """Counts a heartbeat, and makes results due that have waited too long for a confirmation.
        Returns the results that have used up their tries."""
        hopeless = []
        for result in self._journal.unconfirmed():
            run_id, sending = result[0], self._sending[result[0]]
            if run_id in self._due:
                continue
            sending.heartbeats += 1
            if sending.heartbeats < max(sending.max_heartbeats, HEARTBEATS_TO_CONFIRM):
                continue
            if sending.tries < MAX_TRIES:
                self._due.add(run_id)
            else:
                hopeless.append(result)
        return hopeless

    def next_batch(self) -> list[Result]:
        """Returns the results to send now.

        New results come first, short ones before long ones. A result that was sent before comes
        after all new results, and nothing is sent together with it. So if that result breaks the
        connection, no other result is counted as failed.
        """
        due = [
            (self._sending[result[0]], len(json.dumps(result[2])), result)
            for result in self._journal.unconfirmed()
            if result[0] in self._due
        ]
        due.sort(key=lambda each: (each[0].tries, each[1]))
        batch = [each for each in due if not each[0].tries] or due[:1]
        for sending, length, _ in batch:
            sending.tries += 1
            sending.heartbeats = 0
            sending.max_heartbeats = HEARTBEATS_TO_CONFIRM + length // BYTES_PER_HEARTBEAT
        self._due = {result[0] for _, _, result in due} - {result[0] for _, _, result in batch}
        return [result for _, _, result in batch]
