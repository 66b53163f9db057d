"""Follows one delivery from its request to the answer that the agent reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wake_check.exchanges import Exchange
from wake_check.verdicts import Broken, NotJudged

if TYPE_CHECKING:
    from wake_check.run import Run

POLL_SECONDS = 2.0
ANSWERED = {"approved", "rejected", "redirected"}


class SlowPoll:
    """Polls for the answer of one delivery, but not each time that it is asked."""

    def __init__(self, run: Run, delivery_id: str) -> None:
        self._run = run
        self._delivery_id = delivery_id
        self._polled_at = float("-inf")
        self.answer: Exchange | None = None  # the first poll that carried the answer

    def has_answer(self) -> bool:
        now = self._run.clock.now()
        if self.answer is None and now - self._polled_at >= POLL_SECONDS:
            self._polled_at = now
            poll = self._run.poll(self._delivery_id)
            if poll.members.get("status") in ANSWERED:
                self.answer = poll
        return self.answer is not None


class Episode:
    """A delivery that a person answers. Several checks may look at the same episode."""

    def __init__(self, run: Run, fields: dict[str, Any], wanted: dict[str, Any]) -> None:
        self._run = run
        self.headline = str(fields["headline"])
        self.wanted = wanted
        self.delivered = run.deliver(**fields)
        self.delivery_id = str(self.delivered.members["delivery_id"])
        self.wish = run.ask(self.delivery_id, self.headline, wanted)
        self._poll = SlowPoll(run, self.delivery_id)

    @property
    def is_over(self) -> bool:
        """Returns whether the agent can read the answer, or no answer comes any more."""
        if not self.wish.is_done:
            return False
        return not self.wish.is_granted or self._poll.has_answer()

    def require_person(self) -> None:
        """Raises NotJudged if the person did not answer."""
        if not self.wish.is_done:
            raise NotJudged("The person did not answer in time.")
        if not self.wish.is_granted:
            raise NotJudged(self.wish.reason or "The person could not answer.")

    def judged_answer(self) -> Exchange:
        """Returns the poll with the answer. Raises NotJudged if the person did not answer, and
        Broken if they did and the agent cannot read it."""
        self.require_person()
        if self._poll.answer is None:
            poll = self._run.poll(self.delivery_id)
            raise Broken("The person has answered, but the agent still reads no answer.", poll)
        return self._poll.answer

    def answer(self) -> Exchange:
        """Returns the poll with the answer, for a check of something else. Without an answer that
        check cannot be made, so this raises NotJudged; the checks of answers report the fault."""
        try:
            return self.judged_answer()
        except Broken as broken:
            raise NotJudged(str(broken)) from None
