"""`wake mcp` carries each line to /mcp, and carries each answer back."""

from __future__ import annotations

import io
import json
import threading
from contextlib import redirect_stdout
from typing import Any

import httpx
import pytest

from accounts.models import ApiKey
from tests.client.process import type_in
from tests.client.shell.command import VARIABLES
from tests.fixtures.strict_client import Client
from wake.mcp.cards.clients import EXTENSION, MIME_TYPE, SESSION_HEADER
from wake.mcp.cards.resources import URI
from wake.mcp.protocol import META, TASKS
from wake.models import Delivery
from wake_client.shell import parser

REPORT = {"type": "output", "headline": "Report ready", "summary": "Ten companies."}


def bridge(
    *lines: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, key: str = "wk_live_x"
) -> Any:
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    out = io.StringIO()
    type_in(text, monkeypatch)
    arguments = parser.parser().parse_args(["mcp"])
    variables = {**VARIABLES, "WAKE_API_KEY": key}
    with redirect_stdout(out):
        arguments.start(arguments, [], variables, transport=httpx.MockTransport(answer))
    return sorted(
        (json.loads(line) for line in out.getvalue().splitlines()), key=lambda one: str(one["id"])
    )


def of_django(request: httpx.Request) -> httpx.Response:
    assert str(request.url) == "https://wake.example.com/mcp"
    headers = {name: value for name, value in request.headers.items() if name != "host"}
    response = Client().post(
        "/mcp", request.content, content_type="application/json", headers=headers
    )
    session = {name: response[name] for name in [SESSION_HEADER] if name in response}
    return httpx.Response(response.status_code, content=response.content, headers=session)


def call(id: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class InThisThread:
    """Replaces the threads of the bridge, because only the connection of a test sees the test's
    rows."""

    def __init__(self, most: int) -> None: ...

    def __enter__(self) -> InThisThread:
        return self

    def __exit__(self, *error: object) -> None: ...

    def submit(self, work: Any, *arguments: Any) -> None:
        work(*arguments)


@pytest.fixture
def in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # Eight threads send at the same time, but the test needs the order in which the requests are
    # sent.
    monkeypatch.setattr("wake_client.shell.mcp_bridge.ThreadPoolExecutor", InThisThread)


@pytest.mark.django_db
@pytest.mark.usefixtures("in_this_thread")
@pytest.mark.parametrize("is_stateless", [False, True])
def test_a_client_of_each_era_delivers(
    is_stateless: bool, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = key.text  # type: ignore[attr-defined]
    meta: Any = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
    params = {"_meta": meta} if is_stateless else {}
    lines = [
        call(1, "server/discover" if is_stateless else "initialize", **params),
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": params},
    ]

    answers = bridge(*lines, "\n", answer=of_django, monkeypatch=monkeypatch, key=text)
    delivered = bridge(
        call("d", "tools/call", name="deliver", arguments=REPORT, **params),
        answer=of_django, monkeypatch=monkeypatch, key=text,
    )  # fmt: skip

    assert [each["id"] for each in answers] == [1]
    assert "Wake" in answers[0]["result"]["instructions"]
    structured = delivered[0]["result"]["structuredContent"]
    assert structured["delivery_id"] == str(Delivery.objects.get().pk)


@pytest.mark.django_db
@pytest.mark.usefixtures("in_this_thread")
def test_a_question_can_be_a_task(key: ApiKey, monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities: dict[str, Any] = {"extensions": {TASKS: {}}}
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": capabilities}

    def result(method: str, **params: Any) -> Any:
        line = call(1, method, **params, _meta=meta)
        text = key.text  # type: ignore[attr-defined]
        (answer,) = bridge(line, answer=of_django, monkeypatch=monkeypatch, key=text)
        return answer["result"]

    question = {"headline": "Publish?", "summary": "Ten companies."}
    task = result("tools/call", name="ask", arguments=question)["taskId"]
    found = result("tasks/get", taskId=task)
    result("tasks/update", taskId=task)
    result("tasks/cancel", taskId=task)

    assert found["status"] == "working"
    assert Delivery.objects.get(pk=task).withdrawn_at is not None


@pytest.mark.django_db
@pytest.mark.usefixtures("in_this_thread")
@pytest.mark.parametrize("is_stateless", [False, True])
def test_a_client_of_each_era_reads_the_card(
    is_stateless: bool, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    capabilities: dict[str, Any] = {"extensions": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": capabilities}
    params = {"_meta": meta} if is_stateless else {}
    started = call(1, "server/discover", **params)
    if not is_stateless:
        started = call(1, "initialize", capabilities=capabilities)

    _, read = bridge(
        started, call(2, "resources/read", uri=URI, **params),
        answer=of_django, monkeypatch=monkeypatch, key=key.text,  # type: ignore[attr-defined]
    )  # fmt: skip

    assert read["result"]["contents"][0]["mimeType"] == MIME_TYPE


@pytest.mark.django_db
@pytest.mark.usefixtures("in_this_thread")
def test_a_key_that_is_not_valid_is_an_error_that_a_person_can_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (answer,) = bridge(call(1, "tools/list"), answer=of_django, monkeypatch=monkeypatch)

    assert answer["id"] == 1
    assert "A valid key is needed" in answer["error"]["message"]


@pytest.mark.parametrize(
    "response", [httpx.Response(502, text="<html>"), httpx.Response(200, json=[]), None]
)
def test_each_request_has_an_answer(response: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if response is None:
            raise httpx.ConnectError("refused")
        assert isinstance(response, httpx.Response)
        return response

    lines = ["nonsense\n", call(1, "ping"), {"jsonrpc": "2.0", "method": "notifications/x"}]
    answers = bridge(*lines, answer=answer, monkeypatch=monkeypatch)

    assert [(each["id"], "error" in each) for each in answers] == [(1, True), (None, True)]


@pytest.mark.django_db
@pytest.mark.usefixtures("in_this_thread")
def test_half_of_a_surrogate_pair_in_a_name_has_an_answer(
    key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The header Mcp-Name repeats the name. Without an answer, a client waits for ever."""
    meta: Any = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
    line = call(1, "tools/call", name="\ud83d", _meta=meta)
    text = key.text  # type: ignore[attr-defined]

    (answer,) = bridge(line, answer=of_django, monkeypatch=monkeypatch, key=text)

    assert answer["id"] == 1
    assert answer["error"]["message"] == "A text has half of a surrogate pair."


def test_a_line_that_is_nested_too_deeply_has_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    (answer,) = bridge(f"{'[' * 100_000}\n", answer=of_django, monkeypatch=monkeypatch)

    assert answer["error"]["message"] == "The line is not JSON."


def test_an_error_without_an_id_gets_the_id_of_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client would wait for ever, because it did not know whose error it was."""
    error = {"code": 413, "message": "The body is larger than this server takes."}
    refusal = httpx.Response(413, json={"jsonrpc": "2.0", "id": None, "error": error})

    (answer,) = bridge(call("big", "ping"), answer=lambda _: refusal, monkeypatch=monkeypatch)

    assert answer == {"jsonrpc": "2.0", "id": "big", "error": error}


def test_a_ping_is_answered_while_a_question_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    pinged = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if body["method"] == "ping":
            pinged.set()
        else:
            assert pinged.wait(20)
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": body["id"], "result": {}})

    lines = [call(1, "tools/call", name="ask"), call(2, "ping")]
    answers = bridge(*lines, answer=answer, monkeypatch=monkeypatch)

    assert [each["id"] for each in answers] == [1, 2]
