"""The hook says why an approval does not count. The hook also says if a server hides whether it has
claims."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.client.hook.running import FIXTURES, Hook
from tests.client.hook.test_claims import BASH, ClaimingServer
from tests.client.test_sdk import APPROVED, RECEIPT, Server, ok
from wake_client.hook.claims import NO_LIST
from wake_client.hook.verdicts import SUPERSEDED


def test_an_approval_whose_newer_version_was_decided_is_denied_with_this_reason(hook: Hook) -> None:
    hook.extensions = ["digest", "claim", "outcome"]
    refusal = httpx.Response(
        409, json={"error": {"code": "not_approved", "message": "No.", "status": "superseded"}}
    )

    printed = hook(FIXTURES[BASH]["input"], ClaimingServer(claim=refusal), "claude-code")

    assert SUPERSEDED in json.dumps(printed)


@pytest.mark.parametrize("status", [404, 405])
def test_a_server_whose_extensions_are_hidden_is_named_on_stderr(status: int, hook: Hook) -> None:
    hook.extensions = httpx.Response(status, text="Not here.")
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    code, printed, errors = hook.run(FIXTURES[BASH]["input"], server, "claude-code")

    assert (code, json.loads(printed)) == (0, FIXTURES[BASH]["allow"])
    assert errors == f"wake hook: {NO_LIST.format(status=status)}\n"
    assert len(server.requests) == 2
