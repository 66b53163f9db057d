"""Any body that is sent to MCP gets a result, or an error in its documented shape and nothing is
stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import ApiKey
from tests.stress.hostile.asking import Answer, ask
from tests.stress.hostile.test_bodies import as_json, texts, values
from wake.mcp import protocol, tasks
from wake.mcp.tools import TOOLS
from wake.models import Delivery

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
ARGUMENTS = sorted(
    {name for tool in TOOLS.values() for name in (*tool.takes["properties"], *tool.also_takes)}
)
METHODS = ["initialize", "server/discover", "ping", "tools/list", "tools/call", "nothing"]
METHODS += sorted(tasks.METHODS)
META = "io.modelcontextprotocol/"
TAKES_TASKS: dict[str, Any] = {"extensions": {protocol.TASKS: {}}}
metas = st.one_of(
    values,
    st.fixed_dictionaries(
        {
            f"{META}protocolVersion": st.one_of(st.sampled_from(protocol.VERSIONS), values),
            f"{META}clientCapabilities": st.one_of(
                st.just({}),
                st.just(TAKES_TASKS),
                st.fixed_dictionaries({"extensions": values}),
                values,
            ),
        },
        optional={f"{META}clientInfo": values},
    ),
)


@pytest.fixture(autouse=True)
def many_requests(settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 10**9
    settings.WAKE_QUOTA_LIVE = (10**9, 10**9)


def post(key: ApiKey, body: bytes, headers: dict[str, str] | None = None) -> Answer:
    """Sends the body and checks what holds for every answer."""
    stored = Delivery.objects.count()
    authorization = f"Bearer {key.text}"  # type: ignore[attr-defined]
    headers = {"Authorization": authorization, **(headers or {})}
    answer = ask("POST", "/mcp", headers=headers, body=body)
    assert answer.status in {200, 202, 400, 404}, answer.body
    if answer.status == 202:
        assert answer.body == b""
        return answer
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json["jsonrpc"] == "2.0"
    if "error" in answer.json:
        error = answer.json["error"]
        assert set(error) <= {"code", "message", "data"}
        is_handshake = error["code"] in protocol.ANSWERED_WITH_200
        expected = {protocol.STATUS_CODES[error["code"]]} | ({200} if is_handshake else set())
        assert answer.status in expected
    elif answer.json["result"].get("isError"):
        code = answer.json["result"]["content"][0]["text"].partition(":")[0]
        assert code in {"missing_field", "invalid_field", "not_found", "idempotency_conflict"}
    else:
        return answer
    assert Delivery.objects.count() == stored, "What is refused stores nothing."
    return answer


@given(st.one_of(st.binary(max_size=400), st.tuples(values, st.booleans())))
def test_any_body(key: ApiKey, body: Any) -> None:
    post(key, body if isinstance(body, bytes) else as_json(body[0], escaped=body[1]))


@given(
    st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result"]), values),
    st.sampled_from(METHODS),
    st.booleans(),
)
def test_any_envelope(key: ApiKey, members: dict[str, Any], method: str, is_whole: bool) -> None:
    good = {"jsonrpc": "2.0", "id": 1, "method": method} if is_whole else {}
    post(key, as_json(members | good, escaped=True))


@given(st.sampled_from(METHODS), metas, st.sampled_from(["", *protocol.VERSIONS, "2030-01-01"]))
def test_any_era(key: ApiKey, method: str, meta: Any, version: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}}

    post(key, as_json(body, escaped=True), {"Mcp-Protocol-Version": version, "Mcp-Method": method})


@given(
    st.sampled_from(sorted(TOOLS)),
    st.dictionaries(st.one_of(st.sampled_from(ARGUMENTS), texts), values, max_size=4),
    st.booleans(),
)
def test_any_argument(
    key: ApiKey, tool: str, changed: dict[str, Any], is_nearly_right: bool
) -> None:
    good: dict[str, Any] = {"headline": "h", "summary": "s", "wait_seconds": 0}
    if tool == "deliver":
        good = {"headline": "h", "summary": "s", "type": "output"}
    elif tool != "ask":
        good = {"delivery_id": "x"} if tool != "answers" else {}
    arguments = (good if is_nearly_right else {}) | changed
    arguments["wait_seconds"] = 0 if tool in {"ask", "check"} else changed.get("wait_seconds")
    if arguments["wait_seconds"] is None:
        del arguments["wait_seconds"]
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": json.dumps(tool), "method": "tools/call", "params": params}

    post(key, as_json(body, escaped=False))


@given(
    st.sampled_from(sorted(tasks.METHODS)), st.dictionaries(texts, values), st.one_of(texts, values)
)
def test_any_task(key: ApiKey, method: str, params: dict[str, Any], task_id: Any) -> None:
    meta = {
        f"{META}protocolVersion": protocol.STATELESS_VERSION,
        f"{META}clientCapabilities": TAKES_TASKS,
    }
    params = {**params, "taskId": task_id, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    name = task_id if isinstance(task_id, str) and task_id.isascii() else ""
    headers = {"Mcp-Protocol-Version": protocol.STATELESS_VERSION, "Mcp-Method": method}

    answer = post(key, as_json(body, escaped=True), headers | {"Mcp-Name": name})

    assert answer.status == 400
