"""`wake doctor` names what is wrong and what to do."""

from __future__ import annotations

import json
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.shell.command import VARIABLES, wake
from tests.client.test_sdk import RECEIPT, Server, error, ok

PAGE = {"deliveries": [], "total": 0, "has_more": False, "next_since": None}
NOW = 1_790_000_000.0


def capabilities(at: float = NOW) -> httpx.Response:
    return ok({"protocol": "1.0"}, Date=formatdate(at, usegmt=True))


def refused(*fields: str) -> httpx.Response:
    problems = [{"field": field, "code": "unknown", "message": "No such."} for field in fields]
    body = {"error": {"code": "invalid_field", "message": "No.", "fields": problems}}
    return httpx.Response(422, json=body)


def doctor(
    server: Server,
    *words: str,
    public: Any = None,
    variables: dict[str, str] | None = None,
) -> int:
    transport = httpx.MockTransport(lambda request: answered(public or capabilities()))
    given = VARIABLES if variables is None else variables
    return wake(server, "doctor", *words, variables=given, transport=transport, now=lambda: NOW)


def answered(answer: Any) -> httpx.Response:
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, httpx.Response)
    return answer


def test_everything_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(ok(PAGE), refused("supersedes"))

    assert doctor(server) == 0

    printed = capsys.readouterr().out
    assert [line.split(":")[0] for line in printed.splitlines()] == [
        "ok   server",
        "ok   clock",
        "ok   key",
        "ok   agent",
    ]


@pytest.mark.parametrize(
    ("public", "check"),
    [
        (capabilities(NOW - 120), "clock"),
        (capabilities(NOW + 120), "clock"),
        (httpx.Response(200, text="<html>"), "server"),
        (httpx.Response(404, json={}), "server"),
        (httpx.ConnectError("refused"), "server"),
        (httpx.ConnectTimeout("slow"), "server"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), "TLS"),
    ],
)
def test_the_key_is_not_sent_to_a_server_that_fails(
    public: Any, check: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(ok(PAGE))

    assert doctor(server, public=public) == 1

    assert f"FAIL {check}: " in capsys.readouterr().out
    assert server.requests == []


@pytest.mark.parametrize(
    ("answers", "check"),
    [
        ([error(401, "unauthorized")], "key"),
        ([error(403, "forbidden")], "key"),
        ([ok(PAGE), error(403, "agent_mismatch")], "agent"),
        ([ok(PAGE), error(403, "paused")], "agent"),
        ([ok(PAGE), refused("agent_id")], "agent"),
        ([ok(PAGE), ok(RECEIPT, 201)], "agent"),
        ([ok(PAGE), refused("callback_webhook")], "allowlist"),
    ],
)
def test_each_failure_is_named(
    answers: list[Any], check: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = doctor(Server(*answers), "--callback", "https://hooks.example.com/", "--json")

    assert status == (3 if answers[0].status_code == 401 else 1)
    printed = json.loads(capsys.readouterr().out)
    assert printed["passed"] is False
    assert [each["check"] for each in printed["findings"] if not each["passed"]] == [check]


@pytest.mark.parametrize(
    "variables",
    [
        {"HOME": "/nowhere"},
        {**VARIABLES, "WAKE_API_KEY": ""},
        {**VARIABLES, "WAKE_ENDPOINT": "http://wake.example.com"},
        {**VARIABLES, "WAKE_AGENT_ID": ""},
    ],
)
def test_missing_access_is_a_finding(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor(Server(ok(PAGE)), variables=variables) == 1
    assert "FAIL" in capsys.readouterr().out


def test_keys_that_others_can_read_are_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ".config/wake/agents.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"agents": {}}')
    path.chmod(0o644)

    assert doctor(Server(ok(PAGE)), variables={**VARIABLES, "HOME": str(tmp_path)}) == 1
    assert f"chmod 600 {path}" in capsys.readouterr().out
