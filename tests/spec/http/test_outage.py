""" "503 | the database cannot be reached; with `Retry-After`" (docs/protocol.md, Errors), by a real
server in front of a port that refuses."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from accounts.models import ApiKey
from tests.fixtures.served import served
from tests.spec.test_client_code import Program

pytestmark = pytest.mark.slow

NO_SERVER = "postgresql://wake@127.0.0.1:1/wake"


@pytest.fixture(scope="module", params=["asgi", "wsgi"])
def origin(request: pytest.FixtureRequest) -> Iterator[str]:
    with served(
        request.param, DATABASE_URL=NO_SERVER, WAKE_TEST_DATABASE="wake", WAKE_DEV="1"
    ) as origin:
        yield origin


def headers(key: ApiKey) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]


def unavailable(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 503, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    assert int(answer.headers["Retry-After"]) >= 1
    body: dict[str, Any] = answer.json()
    assert body["error"]["code"] == "unavailable"
    return body


def test_503_on_deliver(origin: str, key: ApiKey) -> None:
    start = time.monotonic()

    body = unavailable(httpx.post(f"{origin}/wake/v1/deliver", headers=headers(key), json={}))

    assert set(body) == {"error"}
    assert time.monotonic() - start < 5, "The specification's clients give up after 5 s."


def test_503_on_the_two_gets_carries_what_polling_clients_index(origin: str, key: ApiKey) -> None:
    """ "a 429 or 503 on the two GETs also carries what they index" """
    pk, since = str(uuid.uuid4()), "2026-03-08T11:55:00Z"

    single = unavailable(httpx.get(f"{origin}/wake/v1/response/{pk}", headers=headers(key)))
    bulk = unavailable(httpx.get(f"{origin}/wake/v1/responses?since={since}", headers=headers(key)))

    assert (single["delivery_id"], single["status"]) == (pk, "pending")
    assert bulk["deliveries"] == []
    assert (bulk["total"], bulk["has_more"], bulk["next_since"]) == (0, False, since)


def test_a_polling_client_outlives_the_outage(
    origin: str, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKE_ENDPOINT", origin)
    monkeypatch.setenv("WAKE_API_KEY", key.text)  # type: ignore[attr-defined]
    program = Program("whitepaper-minimal")
    program.source = program.source.partition("# Usage")[0]

    answer = program.run()["await_response"](str(uuid.uuid4()), max_wait=120)

    assert answer == {"status": "timeout", "feedback": None}
    assert program.slept == [60, 60]


def test_endpoints_without_the_database_still_answer(origin: str, key: ApiKey) -> None:
    assert httpx.get(f"{origin}/wake/v1").status_code == 200
    assert httpx.get(f"{origin}/wake/v1/openapi.json").status_code == 200
    assert httpx.get(f"{origin}/wake/nowhere").status_code == 404
    no_key = httpx.get(f"{origin}/wake/v1/responses", headers={"Authorization": "Bearer junk"})
    assert no_key.status_code == 401, "Junk costs no query."


def test_people_get_a_page_about_the_outage(origin: str, key: ApiKey) -> None:
    answer = httpx.get(f"{origin}/", cookies={"sessionid": "x" * 32})

    assert answer.status_code == 503
    assert answer.headers["Content-Type"].startswith("text/html")
    assert int(answer.headers["Retry-After"]) >= 1
