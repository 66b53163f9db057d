"""The trace of a delivery goes along with its callback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from tests.wake.mcp.client import McpClient
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.callbacks import traces
from wake.callbacks.answers import start_batch
from wake.models import Callback, Delivery

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def traced() -> Iterator[None]:
    """Lets the requests of a test have the trace, as wake/server/telemetry/request_log.py does."""
    token = log_context.begin(LogFacts(traceparent=TRACEPARENT))
    yield
    log_context.end(token)


@pytest.mark.parametrize("text", [TRACEPARENT, f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-03"])
def test_a_valid_trace_is_kept(text: str) -> None:
    assert traces.read(text) == text


@pytest.mark.parametrize("text", [f"01-{TRACE}-{SPAN}-ff", f"cc-{TRACE}-{SPAN}-01-what-comes"])
def test_a_newer_version_is_passed_on_as_the_known_version(text: str) -> None:
    assert traces.read(text) == TRACEPARENT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "saffron",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"{TRACEPARENT}-more",
        f"{TRACEPARENT},{TRACEPARENT}",
        f"01-{TRACE}-{SPAN}-01more",
        f"{TRACEPARENT}\n",
    ],
)
def test_another_text_is_no_trace(text: str) -> None:
    assert traces.read(text) == ""


def headers_of(pk: str) -> dict[str, str]:
    return start_batch()(Callback.objects.get(response__delivery=UUID(pk)), database_now())


def test_a_callback_has_the_trace_of_its_delivery(
    traced: None, caller: AgentClient, allowed_host: str, answer: Answer
) -> None:
    pk = caller.deliver(callback_webhook=f"https://{allowed_host}/wake")

    answer(pk)

    assert headers_of(pk)["traceparent"] == TRACEPARENT


def test_nothing_changes_without_a_trace(
    caller: AgentClient, allowed_host: str, answer: Answer
) -> None:
    pk = caller.deliver(callback_webhook=f"https://{allowed_host}/wake")

    answer(pk)

    assert "traceparent" not in headers_of(pk)
    assert Callback.objects.get().headers_ciphertext == ""


def test_no_response_shows_the_trace(traced: None, caller: AgentClient, answer: Answer) -> None:
    delivered = caller.post(caller.payload())
    answer(pk := delivered.json()["delivery_id"])

    for response in (delivered, caller.get(f"response/{pk}"), caller.get("responses")):
        assert TRACE not in response.content.decode()


@pytest.mark.parametrize("is_atomic", [False, True])
def test_each_delivery_of_a_batch_has_the_trace(
    traced: None, caller: AgentClient, is_atomic: bool
) -> None:
    body: dict[str, Any] = {"deliveries": [caller.payload(), caller.payload()]}

    caller.client.post(
        "/wake/v1/deliveries",
        body | {"atomic": is_atomic},
        content_type="application/json",
        headers=caller.headers,
    )

    assert [row.traceparent for row in Delivery.objects.all()] == [TRACEPARENT] * 2


def test_a_delivery_over_mcp_has_the_trace(traced: None, caller: AgentClient) -> None:
    client = McpClient(caller.key.text)  # type: ignore[attr-defined]
    arguments = {"type": "output", "headline": "Ready", "summary": "It is ready."}

    client.ask("tools/call", {"name": "deliver", "arguments": arguments})

    assert Delivery.objects.get().traceparent == TRACEPARENT
