"""The hook uses an approval before it allows a call, and reports what came of the call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.hook.running import (
    AFTER,
    DEFERRING,
    FIXTURES,
    PERMISSIONS,
    REDIRECTED,
    REJECTED,
    Hook,
    agent_of,
    is_without_a_decision,
    words_for,
)
from tests.client.test_sdk import APPROVED, ID, PENDING, RECEIPT, Server, error, ok
from wake_client import content_digest
from wake_client.answers import Receipt
from wake_client.hook.ends import LONGEST_SUMMARY
from wake_client.hook.verdicts import NOT_USED

NONCE = "q1Xn0V2r7mJ8sYt3KcW5Zg"
CLAIMED = {
    "delivery_id": ID,
    "status": "approved",
    "claimed_at": "2026-03-07T09:14:30Z",
    "claim_id": "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
}
REPORTED = {"delivery_id": ID, "status": "done", "reported_at": "2026-03-07T09:15:00Z"}
BASH = "claude-code-permission-request"
AFTER_BASH = "claude-code-post-tool-use"


class ClaimingServer(Server):
    """Gives each path its answer. The receipt and the answer have the digest of what was sent."""

    def __init__(self, answer: Any = APPROVED, *, claim: httpx.Response | None = None) -> None:
        super().__init__(ok({}))
        self.response, self.claim = answer, claim or ok(CLAIMED)
        self.outcome: httpx.Response | Exception = ok(REPORTED, 201)
        self.digest = ""

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        match request.url.path.split("/")[3]:
            case "deliver":
                sent = json.loads(request.content)
                receipt = Receipt.read({**RECEIPT, "nonce": NONCE, "digest": ""}, replayed=False)
                self.digest = content_digest(sent, receipt, files=[])
                return ok({**RECEIPT, "digest": self.digest, "nonce": NONCE}, 201)
            case "response":
                is_answered = self.response["status"] != "pending"
                proof = {"digest": self.digest, "nonce": NONCE} if is_answered else {}
                return ok({**proof, **self.response})
            case "claim":
                return self.claim
            case "outcome":
                if isinstance(self.outcome, Exception):
                    raise self.outcome
                return self.outcome
        return error(404, "not_found")

    def sent_to(self, name: str) -> list[Any]:
        return [
            json.loads(request.content)
            for request in self.requests
            if request.url.path.split("/")[3] == name
        ]


@pytest.fixture
def claiming(hook: Hook) -> Hook:
    """Returns the hook of a server that has claims."""
    hook.extensions = ["digest", "claim", "outcome"]
    return hook


@pytest.fixture
def end(claiming: Hook) -> Callable[..., tuple[int, str, str]]:
    """Runs the hook as the agent does after a call."""

    def run(name: str, server: Server, **changes: Any) -> tuple[int, str, str]:
        given = {**AFTER[name]["input"], **changes}
        return claiming.run(given, server, agent_of(name), "--report")

    return run


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize(
    ("answer", "told"),
    [(APPROVED, "allow"), ({**REDIRECTED, "edited_content": {"command": "npm ci"}}, "edited")],
)
def test_an_approval_is_used_before_the_call_is_allowed(
    name: str, answer: Any, told: str, claiming: Hook, tmp_path: Path
) -> None:
    server = ClaimingServer(answer)

    printed = claiming(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert printed == FIXTURES[name][told]
    assert server.sent_to("deliver")[0]["digest"] is True
    is_allowed = told == "allow" or agent_of(name) == "claude-code"
    assert server.sent_to("claim") == ([{"digest": server.digest}] if is_allowed else [])


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize("code", NOT_USED)
def test_a_refused_claim_denies_with_the_reason(
    code: str, name: str, claiming: Hook, tmp_path: Path
) -> None:
    server = ClaimingServer(claim=error(409, code))

    printed = claiming(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert printed == json.loads(
        json.dumps(FIXTURES[name]["deny"]).replace("Use npm ci.", NOT_USED[code])
    )


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize("answer", [REJECTED, {**APPROVED, "responded_by": {"kind": "rule"}}])
def test_nothing_is_used_unless_a_person_allows(
    answer: Any, name: str, claiming: Hook, tmp_path: Path
) -> None:
    server = ClaimingServer(answer)

    claiming(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert not server.sent_to("claim")


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize("digest", ["0" * 64, None])
def test_an_answer_to_something_else_denies(
    digest: Any, name: str, claiming: Hook, tmp_path: Path
) -> None:
    server = ClaimingServer({**APPROVED, "digest": digest})

    printed = claiming(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert NOT_USED["digest_mismatch"] in json.dumps(printed)
    assert '"allow"' not in json.dumps(printed)
    assert not server.sent_to("claim")


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize("failure", [error(503, "busy"), error(401, "unauthorized")])
def test_a_claim_that_fails_allows_nothing(
    failure: httpx.Response, name: str, claiming: Hook, tmp_path: Path
) -> None:
    server = ClaimingServer(claim=failure)

    printed = claiming(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert '"allow"' not in json.dumps(printed)


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize(
    "extensions",
    [[], ["digest", "claim"], ok({"version": "v1"}), error(404, "not_found"), httpx.Response(404)],
    ids=["none", "without outcome", "not named", "no such page", "another server"],
)
def test_a_server_without_claims_works_as_before(
    extensions: Any, name: str, hook: Hook, tmp_path: Path
) -> None:
    hook.extensions, server = extensions, Server(ok(RECEIPT, 201), ok(APPROVED))
    given, words = FIXTURES[name]["input"], words_for(name, tmp_path)

    _, printed, _ = hook.run(given, server, agent_of(name), *words)

    assert json.loads(printed) == FIXTURES[name]["allow"]
    assert len(server.requests) == 2
    assert "digest" not in json.loads(server.requests[0].content)
    assert not (hook.state / "wake").exists()


@pytest.mark.parametrize("name", PERMISSIONS)
@pytest.mark.parametrize("failure", [error(503, "busy"), error(401, "unauthorized")])
def test_without_the_list_of_extensions_nothing_is_asked_or_allowed(
    failure: httpx.Response, name: str, hook: Hook, tmp_path: Path
) -> None:
    hook.extensions, server = failure, ClaimingServer()

    printed = hook(FIXTURES[name]["input"], server, agent_of(name), *words_for(name, tmp_path))

    assert is_without_a_decision(printed, name)
    assert not server.requests


def test_a_deferred_approval_is_used_when_the_session_goes_on(
    claiming: Hook, tmp_path: Path
) -> None:
    server, given = ClaimingServer(PENDING), FIXTURES[DEFERRING]["input"]
    words = words_for(DEFERRING, tmp_path)

    first = claiming(given, server, "claude-code", *words)
    server.response = APPROVED
    second = claiming(given, server, "claude-code", *words)
    server.claim = error(409, "already_claimed")
    third = claiming(given, server, "claude-code", *words)

    assert first == FIXTURES[DEFERRING]["defer"]
    assert second == FIXTURES[DEFERRING]["allow"]
    assert third["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert third["hookSpecificOutput"]["permissionDecisionReason"] == NOT_USED["already_claimed"]
    assert server.sent_to("claim") == [{"digest": server.digest}] * 2


def test_a_question_that_was_deferred_before_claims_existed_is_asked_again(
    hook: Hook, tmp_path: Path
) -> None:
    given, words = FIXTURES[DEFERRING]["input"], words_for(DEFERRING, tmp_path)
    before = Server(ok(RECEIPT, 201), ok(PENDING))
    hook(given, before, "claude-code", *words)
    hook.extensions = ["digest", "claim", "outcome"]
    server = ClaimingServer()

    assert hook(given, server, "claude-code", *words) == FIXTURES[DEFERRING]["allow"]
    assert server.sent_to("deliver")[0]["digest"] is True
    assert server.sent_to("claim") == [{"digest": server.digest}]
    # The server refuses another body under the key of the first question.
    keys = [each.requests[0].headers["Idempotency-Key"] for each in (before, server)]
    assert keys[0] != keys[1]


def test_a_deferred_approval_without_a_digest_allows_nothing_without_a_claim(
    claiming: Hook, tmp_path: Path
) -> None:
    given, words = FIXTURES[DEFERRING]["input"], words_for(DEFERRING, tmp_path)
    claiming(given, ClaimingServer(PENDING), "claude-code", *words)
    path = tmp_path / "deferred.json"
    entries = json.loads(path.read_text())
    for entry in entries.values():
        del entry["content_digest"]
    path.write_text(json.dumps(entries))
    server = ClaimingServer(claim=error(409, "already_claimed"))

    printed = claiming(given, server, "claude-code", *words)

    assert printed["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert server.sent_to("claim") == [{"digest": server.digest}]


@pytest.mark.parametrize("name", sorted(AFTER))
def test_what_came_of_a_call_is_reported_once(
    name: str, claiming: Hook, end: Callable[..., Any]
) -> None:
    server, before = ClaimingServer(), AFTER[name]["before"]
    claiming(FIXTURES[before]["input"], server, agent_of(name))

    first, second = end(name, server), end(name, server)

    assert first == second == (0, "", "")
    assert server.sent_to("outcome") == [
        {"status": AFTER[name]["status"], "summary": AFTER[name]["summary"]}
    ]
    assert server.requests[-1].url.path.endswith(f"/outcome/{ID}")


@pytest.mark.parametrize(
    "changes",
    [
        {"session_id": "other"},
        {"tool_name": "PowerShell"},
        {"tool_input": {"command": "rm -rf node_modules /"}},
    ],
)
def test_another_call_is_not_reported(
    changes: dict[str, Any], claiming: Hook, end: Callable[..., Any]
) -> None:
    server = ClaimingServer()
    claiming(FIXTURES[BASH]["input"], server, "claude-code")

    assert end(AFTER_BASH, server, **changes) == (0, "", "")
    assert not server.sent_to("outcome")


@pytest.mark.parametrize("name", sorted(AFTER))
def test_a_call_that_people_were_not_asked_about_has_nothing_to_report(
    name: str, end: Callable[..., Any]
) -> None:
    server = ClaimingServer()

    assert end(name, server) == (0, "", "")
    assert not server.requests


def test_an_edited_call_is_found_by_the_arguments_it_ran_with(
    claiming: Hook, end: Callable[..., Any]
) -> None:
    server = ClaimingServer({**REDIRECTED, "edited_content": {"command": "npm ci"}})
    claiming(FIXTURES[BASH]["input"], server, "claude-code")

    end(AFTER_BASH, server)
    end(AFTER_BASH, server, tool_input={"command": "npm ci"})

    assert len(server.sent_to("outcome")) == 1


def test_a_deferred_call_is_found_by_its_id(
    claiming: Hook, end: Callable[..., Any], tmp_path: Path
) -> None:
    server, given = ClaimingServer(), FIXTURES[DEFERRING]["input"]
    claiming(given, server, "claude-code", *words_for(DEFERRING, tmp_path))

    end(AFTER_BASH, server, tool_use_id="another", tool_input=given["tool_input"])
    end(AFTER_BASH, server, tool_use_id=given["tool_use_id"], tool_input={"any": 1})

    assert len(server.sent_to("outcome")) == 1


@pytest.mark.parametrize(
    "failure", [error(503, "busy"), error(404, "not_found"), httpx.ConnectError("away")]
)
def test_a_report_that_cannot_be_sent_is_said_and_breaks_nothing(
    failure: Any, claiming: Hook, end: Callable[..., Any]
) -> None:
    server = ClaimingServer()
    claiming(FIXTURES[BASH]["input"], server, "claude-code")
    server.outcome = failure

    status, printed, errors = end(AFTER_BASH, server)

    assert (status, printed) == (1, ""), "Claude Code shows stderr, and goes on."
    assert errors.startswith("wake hook: The end of this call was not reported: ")
    assert errors.endswith(f"Send it with: wake report {ID} done\n")


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"hook_event_name": "PostToolUse"}'])
def test_an_unreadable_end_is_said(text: str, claiming: Hook) -> None:
    status, printed, errors = claiming.run(text, ClaimingServer(), "claude-code", "--report")

    assert (status, printed) == (1, "")
    assert errors.startswith("wake hook: The end of this call was not reported: ")


def test_a_damaged_file_is_said_before_and_after_the_call(
    claiming: Hook, end: Callable[..., Any]
) -> None:
    path = claiming.state / "wake" / "approved.json"
    path.parent.mkdir()
    path.write_text('{"no": "list"}')
    server = ClaimingServer()

    status, printed, errors = claiming.run(FIXTURES[BASH]["input"], server, "claude-code")

    assert (status, json.loads(printed)) == (0, FIXTURES[BASH]["allow"])
    assert errors.startswith("wake hook: The end of this call will not be reported: ")
    assert end(AFTER_BASH, server)[0] == 1


def test_the_file_has_no_content(claiming: Hook) -> None:
    claiming(FIXTURES[BASH]["input"], ClaimingServer(), "claude-code")

    path = claiming.state / "wake" / "approved.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "node_modules" not in path.read_text()


def test_an_error_is_cut_to_one_visible_line(claiming: Hook, end: Callable[..., Any]) -> None:
    server = ClaimingServer()
    claiming(FIXTURES[BASH]["input"], server, "claude-code")

    end("claude-code-post-tool-use-failure", server, error="Exit\n\x1b[31m" + "x" * 400)

    (sent,) = server.sent_to("outcome")
    assert len(sent["summary"]) <= LONGEST_SUMMARY
    assert sent["summary"].startswith("Exit ⟨U+001B⟩[31m")


def test_codex_reports_nothing_so_nothing_is_remembered(claiming: Hook) -> None:
    claiming(FIXTURES["codex-permission-request"]["input"], ClaimingServer(), "codex")

    assert not (claiming.state / "wake").exists()
