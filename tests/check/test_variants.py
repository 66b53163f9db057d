"""Each broken server fails exactly the checks of what is broken."""

from __future__ import annotations

import pytest

from tests.check.clock import FastClock
from tests.check.judging import failed, judged, judged_by
from tests.check.small_server import Reply, Request, SmallServer
from tests.check.variants import BROKEN
from wake_check.checks import CHECKS, LAST
from wake_check.verdicts import Result

pytestmark = pytest.mark.slow
# These checks look at the keys, at another address, and at what the server declares.
LOOK_ELSEWHERE = {"key-prefix", "plain-http", "rate-limit-live"}


class _Declares(SmallServer):
    """Declares everything, and keeps nothing of it."""

    def handle(self, request: Request) -> Reply:
        is_capabilities = request.method == "GET" and request.path.strip("/") == "wake/v1"
        return super().handle(request) if is_capabilities else self.anything(request)

    def anything(self, request: Request) -> Reply:
        raise NotImplementedError


class FailsAlways(_Declares):
    def anything(self, request: Request) -> Reply:
        return Reply(500, b"An error", content_type="text/plain")


class AnswersNothing(_Declares):
    def anything(self, request: Request) -> Reply:
        return Reply(200, {})


class AcceptsEverything(_Declares):
    """Keeps the format of a good answer, and refuses no request."""

    def anything(self, request: Request) -> Reply:
        reply = SmallServer.handle(self, request)
        made_up = {"delivery_id": "made-up", "status": "received"}
        return Reply(
            200 if request.method == "GET" else 201, reply.body if reply.status < 300 else made_up
        )


@pytest.mark.parametrize("variant", BROKEN, ids=lambda variant: variant.__name__)
def test_a_broken_server_fails_exactly_the_named_checks(variant: type[SmallServer]) -> None:
    report = judged(variant)

    assert failed(report) == BROKEN[variant]


@pytest.mark.parametrize("variant", [FailsAlways, AnswersNothing])
def test_a_server_that_does_nothing_passes_nothing(variant: type[SmallServer]) -> None:
    report = judged(variant)

    passed = {each.requirement.id for each in report.verdicts if each.result is Result.PASS}
    assert passed == LOOK_ELSEWHERE


def test_each_check_fails_for_one_of_these_servers() -> None:
    """A check that never fails shows nothing."""
    servers = (FailsAlways, AnswersNothing, AcceptsEverything)
    by_servers = set().union(*BROKEN.values(), *(failed(judged(server)) for server in servers))
    by_address = failed(judged_by(SmallServer(FastClock()), plain_http=""))
    odd_key = failed(judged_by(SmallServer(FastClock()), odd_test_key=True))

    assert by_address == {"plain-http"}
    assert odd_key == {"key-prefix", "rate-limit"}  # a live key has another limit
    assert by_servers | by_address | odd_key == CHECKS.keys() | LAST.keys()


def test_there_are_at_least_twelve_broken_servers() -> None:
    assert len(BROKEN) >= 12
