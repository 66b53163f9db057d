"""Runs the kit against a small server, with a clock that does not wait."""

from __future__ import annotations

from tests.check.clock import FastClock
from tests.check.small_server import OTHER, OWN, TEST, SmallServer, listening
from tests.check.store import SECRET
from wake_check import requirements
from wake_check.checks import CHECKS, LAST
from wake_check.people import Wish
from wake_check.receiver import Receiver
from wake_check.reports import Report
from wake_check.run import Run
from wake_check.server import Keys, Server
from wake_check.verdicts import Result

TEXTS = {"WAKE_API_KEY": OWN, "WAKE_CHECK_OTHER_KEY": OTHER, "WAKE_CHECK_TEST_KEY": TEST}
# Nothing listens on the port 9 of this machine, so plain HTTP is rejected there.
NO_PLAIN_HTTP = "http://127.0.0.1:9"


class Reviewer:
    """Answers each wish at once."""

    def __init__(self, small: SmallServer) -> None:
        self._small = small

    def ask(self, wish: Wish) -> None:
        if wish.members["wish"] == "look":
            wish.answer = {"is_text": self._small.shows_markup_as_text}
            wish.settle(granted=True)
            return
        reason = self._small.store.answer(wish.members["delivery_id"], wish.members)
        wish.settle(granted=not reason, reason=reason)

    def close(self) -> None:
        """Has nothing to end."""


def judged(small_class: type[SmallServer] = SmallServer) -> Report:
    return judged_by(small_class(FastClock()))


def judged_by(
    small: SmallServer, *, plain_http: str = NO_PLAIN_HTTP, odd_test_key: bool = False
) -> Report:
    """Without `plain_http`, the server itself is taken for the address without TLS. `odd_test_key`
    uses a live key as the test key."""
    clock = small.store.clock
    clock.after_sleep = small.store.send_due
    receiver = Receiver()
    with listening(small) as origin:
        test_key = OTHER if odd_test_key else TEST
        server = Server(origin, Keys({**TEXTS, "WAKE_CHECK_TEST_KEY": test_key}))
        run = Run(
            server=server,
            people=Reviewer(small),
            receiver=receiver,
            clock=clock,
            agent_id="painter",
            secret=SECRET,
            other_agent_id="writer",
            plain_http=plain_http or origin,
            capabilities=server.get("").members,
        )
        verdicts = run.judge(requirements.load(), CHECKS, LAST)
        server.close()
        receiver.close()
    return Report(origin, requirements.REVISIONS[-1], verdicts, run.extensions)


def failed(report: Report) -> set[str]:
    return {each.requirement.id for each in report.verdicts if each.result is Result.FAIL}
