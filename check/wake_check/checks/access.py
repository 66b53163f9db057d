"""Checks who may do what: keys, other agents, rate limits and plain HTTP."""

from __future__ import annotations

import uuid
from urllib.parse import urlsplit

from wake_check.checks.expect import expect_status
from wake_check.checks.registry import judges
from wake_check.exchanges import Exchange
from wake_check.run import Run
from wake_check.server import OTHER, OWN, TEST
from wake_check.verdicts import Broken, NotJudged

WRONG = {
    "no key": {},
    "a made-up key": {"authorization": "Bearer wk_live_made_up_by_the_conformance_kit"},
    "the scheme Basic": {"authorization": "Basic d2FrZTpjaGVjaw=="},
    "an empty key": {"authorization": "Bearer"},
}
# The specification's burst of test keys. A server may declare another one.
BURST = 5
MAX_BURST = 20
LIVE_PER_HOUR, LIVE_BURST = 500, 50
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@judges("key-required")
def key_required(run: Run) -> None:
    for what, headers in WRONG.items():
        for exchange in _on_every_endpoint(run, headers):
            expect_status(exchange, 401, why=what)


@judges("key-challenge")
def key_challenge(run: Run) -> None:
    for exchange in _on_every_endpoint(run, {}):
        if exchange.status != 401:
            raise NotJudged(f"A request without a key gets a {exchange.status}, and no 401.")
        challenge = exchange.answer_headers.get("www-authenticate", "")
        if not challenge.lower().startswith("bearer"):
            raise Broken("A 401 has no `WWW-Authenticate: Bearer`.", exchange)


def _on_every_endpoint(run: Run, headers: dict[str, str]) -> list[Exchange]:
    body = b'{"agent_id": "a", "provider": "b", "type": "output", "headline": "c", "summary": "d"}'
    send = run.server.send
    return [
        send("POST", "deliver", key="", content=body, headers=headers),
        send("GET", f"response/{uuid.uuid4()}", key="", headers=headers),
        send("GET", "responses", key="", headers=headers),
    ]


@judges("key-prefix")
def key_prefix(run: Run) -> None:
    for variable in (OWN, OTHER, TEST):
        key = run.server.keys[variable]
        expected = ("wk_test_",) if variable == TEST else ("wk_live_", "wk_test_")
        if key and not key.startswith(expected):
            raise Broken(f"The key of {variable} does not begin with {' or '.join(expected)}.")


@judges("other-agent-hidden")
def other_agent_hidden(run: Run) -> None:
    _needs(run, OTHER)
    delivered = run.shared()
    delivery_id = delivered.members["delivery_id"]
    poll = run.server.get(f"response/{delivery_id}", key=OTHER)
    if poll.status == 200:
        raise Broken("Another agent's key reads the delivery.", poll)
    sweep = run.server.get("responses", key=OTHER, limit=200, since=delivered.members["created_at"])
    own = run.server.get("responses", key=OTHER, limit=200, agent_id=run.agent_id)
    for exchange in (sweep, own):
        if delivery_id in exchange.answer.decode(errors="replace"):
            raise Broken("Another agent's bulk request has the delivery.", exchange)


@judges("identity-from-key")
def identity_from_key(run: Run) -> None:
    _needs(run, OTHER)
    if not run.other_agent_id:
        raise NotJudged("It needs the id of the other agent: --other-agent.")
    claimed = run.post(run.payload(agent_id=run.other_agent_id, what="under another agent's id"))
    if claimed.status != 201:
        expect_status(claimed, 400, 401, 403, 404, 409, 422, why="the id of another agent")
        return
    delivery_id = claimed.members["delivery_id"]
    poll = run.server.get(f"response/{delivery_id}", key=OTHER)
    if poll.status == 200:
        raise Broken("A delivery under another agent's id belongs to that agent.", poll)


@judges("rate-limit")
def rate_limit(run: Run) -> None:
    sent = _beyond_the_burst(run)
    refused = sent[-1]
    if refused.status != 429:
        raise Broken(
            f"None of {len(sent)} deliveries in a row with a test key gets a 429.", refused
        )
    seconds = refused.answer_headers.get("retry-after", "")
    if not seconds.isdigit() or int(seconds) < 1:
        raise Broken(f"`Retry-After` is {seconds!r}, and no number of seconds.", refused)


@judges("rate-limit-figures")
def rate_limit_figures(run: Run) -> None:
    sent = _beyond_the_burst(run)
    if sent[-1].status != 429:
        raise NotJudged("No delivery was refused, as the check rate-limit says.")
    if len(sent) - 1 != BURST:
        # A key that was used shortly before has less left than the burst.
        raise Broken(f"A test key delivers {len(sent) - 1} times in a row, not {BURST}.", sent[-1])


@judges("rate-limit-live")
def rate_limit_live(run: Run) -> None:
    """Reads what the server declares, because trying it would take more than 50 deliveries."""
    declared = [run.limit("deliveries", "live", name) for name in ("per_hour", "burst")]
    if None in declared:
        raise NotJudged("The server does not declare its limits for live keys.")
    if declared != [LIVE_PER_HOUR, LIVE_BURST]:
        raise Broken(
            f"The limits of live keys are {declared[0]} an hour and {declared[1]} at once."
        )


def _beyond_the_burst(run: Run) -> list[Exchange]:
    """Delivers with the test key until it is refused. Both checks share the deliveries."""
    _needs(run, TEST)
    declared = run.limit("deliveries", "test", "burst")
    tries = (declared if isinstance(declared, int) else BURST) + 1
    sent: list[Exchange] = []
    for number in range(min(tries, MAX_BURST)):
        sent.append(run.sample(f"{number} with a test key", key=TEST))
        if sent[-1].status != 201:
            break
    return sent


def _needs(run: Run, variable: str) -> None:
    if not run.server.keys[variable]:
        raise NotJudged(f"It needs another key, in {variable}.")


@judges("plain-http")
def plain_http(run: Run) -> None:
    """Sends no key, because the request could be read on its way."""
    address = run.plain_http
    if not address:
        url = urlsplit(run.server.origin)
        if url.hostname in LOOPBACK:
            raise NotJudged(
                "The server is on a loopback address: name another one with --plain-http."
            )
        address = f"http://{url.hostname}" if url.scheme == "https" else run.server.origin
    try:
        exchange = run.server.send("GET", f"{address}/wake/v1/responses", key="")
    except Broken:
        return  # nothing listens there
    if exchange.status == 401 or 200 <= exchange.status < 400:
        raise Broken("Plain HTTP is answered or redirected, and not rejected.", exchange)


@judges("test-lane")
def test_lane(run: Run) -> None:
    _needs(run, TEST)
    delivered = run.shared()
    poll = run.server.get(f"response/{delivered.members['delivery_id']}", key=TEST)
    expect_status(poll, 404, why="a test key asks for a live delivery")
