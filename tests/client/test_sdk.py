"""The SDK makes requests and waits; the server gives prepared responses."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

import wake_client
from wake_client import Answer, AsyncWakeClient, Receipt, WakeClient

KEY = "wk_live_made_up_for_this_test"
ID = "550e8400-e29b-41d4-a716-446655440000"
PENDING: dict[str, Any] = {
    "delivery_id": ID,
    "status": "pending",
    "feedback": None,
    "edited_content": None,
    "responded_at": None,
    "expires_at": None,
    "expired": False,
    "late": False,
    "erased": False,
}
APPROVED = {**PENDING, "status": "approved", "responded_at": "2026-03-07T09:14:22.5Z"}
RECEIPT = {"delivery_id": ID, "status": "received", "created_at": "2026-03-07T08:31:00Z"}


class Server:
    """Gives its answers in turn, and then repeats the last one. Time passes only while the client
    sleeps, or while a request takes time (`takes`)."""

    def __init__(self, *answers: httpx.Response | Exception, takes: float = 0) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []
        self.time = 0.0
        self.takes = takes

    def client(self, endpoint: str = "https://wake.example.com", **options: Any) -> WakeClient:
        return WakeClient(
            endpoint,
            KEY,
            agent_id="painter",
            provider="claude",
            transport=httpx.MockTransport(self.answer),
            sleep=self.sleep,
            now=lambda: self.time,
            **options,
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.time += self.takes
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def ok(body: Any, status: int = 200, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers=headers)


def error(status: int, code: str, retry_after: str = "") -> httpx.Response:
    headers = {"Retry-After": retry_after} if retry_after else {}
    return httpx.Response(status, json={"error": {"code": code, "message": "No."}}, headers=headers)


def deliver(client: WakeClient) -> Receipt:
    return client.deliver("question", "Two colours are left", "Approve red.", thread="fence")


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://wake.example.com",
        "https://wake.example.com/",
        "https://wake.example.com/wake/v1",
        "https://wake.example.com/wake/v1/",
    ],
)
def test_an_endpoint_may_have_the_prefix_or_not(endpoint: str) -> None:
    server = Server(ok(APPROVED))

    server.client(endpoint).response(ID)

    assert str(server.requests[0].url) == f"https://wake.example.com/wake/v1/response/{ID}"
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "endpoint", ["http://wake.example.com", "wake.example.com", "ftp://x", "https://a:b@x", ""]
)
def test_an_endpoint_that_would_give_the_key_away_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        WakeClient(endpoint, KEY, agent_id="painter")


def test_a_delivery_contains_the_given_fields_and_no_others() -> None:
    server = Server(ok(RECEIPT, 201))

    receipt = deliver(server.client())

    assert receipt.delivery_id == ID
    assert json.loads(server.requests[0].content) == {
        "agent_id": "painter",
        "provider": "claude",
        "type": "question",
        "headline": "Two colours are left",
        "summary": "Approve red.",
        "thread": "fence",
    }


def test_a_delivery_whose_response_was_lost_is_sent_again_with_the_same_key() -> None:
    lost = httpx.ReadTimeout("timed out")
    server = Server(
        lost, error(503, "unavailable"), ok(RECEIPT, 201, **{"Idempotency-Replayed": "true"})
    )

    receipt = deliver(server.client())

    keys = [request.headers["Idempotency-Key"] for request in server.requests]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert receipt.replayed


def test_two_deliveries_have_two_keys() -> None:
    server = Server(ok(RECEIPT, 201))
    client = server.client()

    deliver(client)
    deliver(client)

    first, second = (request.headers["Idempotency-Key"] for request in server.requests)
    assert first != second


def test_it_retries_no_sooner_than_the_server_asks() -> None:
    server = Server(error(429, "rate_limited", "7"), ok(RECEIPT, 201))

    deliver(server.client())

    assert 7 <= server.slept[0] <= 8


def test_it_raises_at_once_if_it_would_have_to_wait_too_long() -> None:
    server = Server(error(429, "rate_limited", "3600"))

    with pytest.raises(wake_client.TooManyRequests) as raised:
        deliver(server.client())

    assert (raised.value.code, raised.value.retry_after) == ("rate_limited", 3600)
    assert server.slept == []


def test_an_outage_ends_in_an_error_after_two_minutes() -> None:
    server = Server(httpx.ConnectError("refused"))

    with pytest.raises(wake_client.Unavailable, match="refused"):
        deliver(server.client())

    assert 90 <= sum(server.slept) <= 120
    assert max(server.slept) <= 30


def test_waiting_ends_at_its_timeout_also_while_the_server_is_away() -> None:
    server = Server(ok(PENDING), httpx.ConnectError("refused"), takes=1)

    with pytest.raises(wake_client.Unavailable):
        server.client().wait(ID, timeout=20)

    assert server.time <= 21


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, wake_client.NotAccepted),
        (401, wake_client.KeyNotValid),
        (403, wake_client.NotAllowed),
        (404, wake_client.NotFound),
        (422, wake_client.NotAccepted),
        (500, wake_client.Unavailable),
        (307, wake_client.NotWake),
    ],
)
def test_a_permanent_error_is_raised_at_once(
    status: int, kind: type[wake_client.WakeError]
) -> None:
    server = Server(error(status, "its_code"))

    with pytest.raises(kind) as raised:
        deliver(server.client())

    assert (raised.value.status, raised.value.code, raised.value.message) == (
        status,
        "its_code",
        "No.",
    )
    assert len(server.requests) == 1
    assert KEY not in repr(raised.value)


def test_a_paused_agent_is_refused_at_once_and_does_not_try_again() -> None:
    """The client used to sleep for the hour in `Retry-After`, and the agent was then still
    paused."""
    server = Server(error(403, "paused"))

    with pytest.raises(wake_client.NotAllowed, match="paused"):
        deliver(server.client())

    assert (len(server.requests), server.slept) == (1, [])


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        ok([]),
        ok({"delivery_id": ID}),
        ok({**APPROVED, "status": "done"}),
        ok({**APPROVED, "delivery_id": "661f9511-f30c-52e5-b827-557766551111"}),
    ],
)
def test_a_response_that_is_not_the_protocols_is_refused(answer: httpx.Response) -> None:
    with pytest.raises(wake_client.NotWake):
        Server(answer).client().response(ID)


def test_it_waits_by_long_polls_through_an_outage() -> None:
    away = error(503, "unavailable", "2")
    server = Server(ok(PENDING), away, ok(PENDING), ok(APPROVED), takes=25)

    answer = server.client(retry_for=300).wait(ID)

    assert answer.status == "approved"
    assert [request.url.params["wait"] for request in server.requests] == ["25"] * 4
    # The client paused only for the outage, because a long poll needs no pause.
    assert len(server.slept) == 1


def test_it_asks_a_server_without_long_polls_less_and_less_often() -> None:
    server = Server(*[ok(PENDING)] * 9, ok(APPROVED))

    server.client().wait(ID)

    assert server.slept == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_it_stops_waiting_when_the_delivery_has_expired() -> None:
    server = Server(ok(PENDING), ok({**PENDING, "expired": True}), takes=25)

    answer = server.client().wait(ID)

    assert (answer.status, answer.expired) == ("pending", True)


MADE_TO_WAIT = {**RECEIPT, "on_timeout": "hold"}
EXPIRED = {**PENDING, "expired": True}
LATE = {**APPROVED, "expired": True, "late": True}


def test_an_agent_that_a_rule_makes_wait_waits_after_the_deadline() -> None:
    """The client used to return at the deadline, and the program then continued with its
    assumption."""
    server = Server(ok(MADE_TO_WAIT, 201), ok(EXPIRED), ok(EXPIRED), ok(LATE))

    answer = server.client().ask("Two colours are left", "Approve red.", timeout_seconds=60)

    assert (answer.status, answer.late) == ("approved", True)
    assert server.slept == [1, 2]


def test_an_agent_that_has_to_wait_finds_no_expired_answer_at_its_timeout() -> None:
    client = Server(ok(MADE_TO_WAIT, 201), ok(EXPIRED)).client()

    receipt = deliver(client)
    answer = client.wait(receipt.delivery_id, timeout=10, must_wait=receipt.must_wait)

    assert receipt.must_wait
    assert (answer.status, answer.expired) == ("pending", False)


def test_without_such_a_rule_waiting_ends_at_the_deadline() -> None:
    server = Server(ok(RECEIPT, 201), ok(EXPIRED))

    answer = server.client().ask("Two colours are left", "Approve red.", timeout_seconds=60)

    assert (answer.status, answer.expired) == ("pending", True)


def test_it_stops_waiting_at_its_timeout() -> None:
    server = Server(ok(PENDING), takes=25)

    answer = server.client().wait(ID, timeout=60)

    assert answer.status == "pending"
    assert [request.url.params["wait"] for request in server.requests] == ["25", "25", "10"]


def page(*ids: str, has_more: bool, next_since: str | None) -> httpx.Response:
    rows = [{**APPROVED, "delivery_id": one} for one in ids]
    return ok({"deliveries": rows, "total": 3, "has_more": has_more, "next_since": next_since})


def test_a_sweep_reads_page_after_page() -> None:
    server = Server(
        page("a", "b", has_more=True, next_since="2"), page("c", has_more=False, next_since="3")
    )

    sweep = server.client().responses(since="1", wait=5)

    assert [answer.delivery_id for answer in sweep] == ["a", "b", "c"]
    assert sweep.next_since == "3"
    assert [dict(request.url.params) for request in server.requests] == [
        {**{"agent_id": "painter", "status": "approved,rejected,redirected"}, **more}
        for more in (
            {"since": "1", "limit": "200", "wait": "5"},
            {"since": "2", "limit": "200"},
        )
    ]


def test_a_sweep_that_stops_within_a_page_repeats_that_page() -> None:
    server = Server(page("a", "b", has_more=False, next_since="2"))

    sweep = server.client().responses(since="1")

    assert next(sweep).delivery_id == "a"
    assert sweep.next_since == "1"


def test_the_async_client_does_the_same() -> None:
    server = Server(
        error(429, "rate_limited", "1"),
        ok(RECEIPT, 201),
        ok(PENDING),
        ok(APPROVED),
        page("a", has_more=False, next_since="2"),
    )

    async def sleep(seconds: float) -> None:
        server.sleep(seconds)

    async def run() -> tuple[Receipt, Answer, list[str]]:
        async with AsyncWakeClient(
            "https://wake.example.com/wake/v1",
            KEY,
            agent_id="painter",
            transport=httpx.MockTransport(server.answer),
            sleep=sleep,
            now=lambda: server.time,
        ) as client:
            receipt = await client.deliver("output", "Painted", "All of it.")
            answer = await client.wait(receipt.delivery_id)
            sweep = client.responses()
            swept = [one.delivery_id async for one in sweep]
            assert sweep.next_since == "2"
            return receipt, answer, swept

    receipt, answer, swept = asyncio.run(run())

    assert (receipt.delivery_id, answer.status, swept) == (ID, "approved", ["a"])


def test_a_question_is_one_call() -> None:
    server = Server(ok(RECEIPT, 201), ok(PENDING), ok(APPROVED))

    answer = server.client().ask("Two colours are left", "Approve red.", assumption="Red.")

    assert answer.status == "approved"
    sent = json.loads(server.requests[0].content)
    assert (sent["type"], sent["assumption"]) == ("question", "Red.")
