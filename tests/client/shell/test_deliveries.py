"""`wake deliver`, `ask`, `check`, `answers` and `withdraw` send, print and return the right
things."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.connector.relay import CLIENT
from tests.client.test_sdk import APPROVED, ID, KEY, PENDING, RECEIPT, Server, error, ok
from tests.client.test_uploads import BLOB, PNG
from wake_client import WakeClient
from wake_client.shell import deliveries
from wake_client.shell.output import ExitStatus

VARIABLES = {
    "WAKE_ENDPOINT": "https://wake.example.com",
    "WAKE_API_KEY": KEY,
    "WAKE_AGENT_ID": "painter",
}
CONTENT = ["Two colours are left", "Approve red."]
WITHDRAWN = {
    "delivery_id": ID,
    "status": "withdrawn",
    "withdrawn_at": "2026-03-07T09:00:00Z",
    "reason": "Painted.",
}


def wake(server: Server, *words: str, **variables: str) -> int:
    parser = argparse.ArgumentParser("wake")
    deliveries.add_subcommands(parser.add_subparsers(required=True))
    make_client = partial(
        WakeClient,
        transport=httpx.MockTransport(server.answer),
        sleep=server.sleep,
        now=lambda: server.time,
    )
    arguments = parser.parse_args(words)
    return deliveries.start(arguments, [], {**VARIABLES, **variables}, make_client=make_client)


def body(server: Server, number: int = 0) -> Any:
    return json.loads(server.requests[number].content)


def test_check_with_a_url_names_the_command_that_judges_servers() -> None:
    server = Server()

    with pytest.raises(ValueError, match="wake-check URL"):
        wake(server, "check", "https://wake.example.com")

    assert server.requests == []


def test_a_delivery_prints_its_id(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    server = Server(ok(RECEIPT, 201))
    details = tmp_path / "details.json"
    details.write_text('{"colours": ["red"]}')

    status = wake(
        server, "deliver", "output", *CONTENT, "--details", str(details), "--thread", "fence"
    )

    assert (status, capsys.readouterr().out) == (0, f"{ID}\n")
    sent = body(server)
    assert (sent["type"], sent["headline"], sent["agent_id"]) == ("output", CONTENT[0], "painter")
    assert (sent["details"], sent["thread"]) == ({"colours": ["red"]}, "fence")
    assert server.requests[0].headers["User-Agent"].startswith("wake-client/")


def test_an_agent_that_a_rule_makes_wait_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    held = Server(ok(RECEIPT | {"on_timeout": "hold"}, 201))

    assert wake(held, "deliver", "output", *CONTENT) == 0

    out, err = capsys.readouterr()
    assert out == f"{ID}\n"
    assert err == "A rule of the team says: wait for the answer, also after the deadline.\n"


def test_a_question_that_a_rule_makes_wait_does_not_expire(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """When a question had expired, the exit status used to let scripts continue."""
    receipt, expired = ok(RECEIPT | {"on_timeout": "hold"}, 201), ok({**PENDING, "expired": True})

    answered = wake(Server(receipt, expired, ok(APPROVED)), "ask", *CONTENT)
    waiting = wake(Server(receipt, expired), "ask", *CONTENT, "--wait", "5")

    assert (answered, waiting) == (ExitStatus.OK, ExitStatus.PENDING)
    assert capsys.readouterr().out == f"approved\npending\ndelivery_id {ID}\n"


def picture_and_report(folder: Path) -> tuple[str, str]:
    (folder / "page.png").write_bytes(PNG)
    (folder / "logo.svg").write_bytes(b"<svg/>")
    return str(folder / "page.png"), str(folder / "logo.svg")


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (None, {}),
        ("Words.", {"proposal": "Words."}),
        ('{"price": 3}', {"proposal": {"price": 3}}),
        (
            '{"wake_blocks": 1, "text": "T", "blocks": [{"type": "text", "text": "x"}]}',
            {"text": "T"},
        ),
    ],
)
def test_pictures_and_files_are_uploaded_and_shown(
    details: str | None, expected: dict[str, Any], tmp_path: Path
) -> None:
    server = Server(ok(BLOB, 201), ok(BLOB, 201), ok(BLOB, 201), ok(RECEIPT, 201))
    picture, drawing = picture_and_report(tmp_path)
    (tmp_path / "details").write_text(details or "")
    words = ["--details", str(tmp_path / "details")] if details else []
    files = ["--image", picture, "--alt", "The page", "--file", drawing, "--file", picture]

    assert wake(server, "deliver", "output", *CONTENT, *words, *files) == 0

    sent = body(server, 3)["details"]
    assert [request.headers["Content-Type"] for request in server.requests[:3]] == [
        "image/png",
        "application/octet-stream",
        "application/octet-stream",
    ]
    assert sent["blocks"][-3:] == [
        {"type": "image", "alt": "The page", "blob": ID},
        {"type": "file", "blob": ID, "name": "logo.svg"},
        {"type": "file", "blob": ID, "name": "page.png"},
    ]
    assert len(sent["blocks"]) == (4 if details else 3)
    rest = {name: value for name, value in sent.items() if name not in {"wake_blocks", "blocks"}}
    assert rest == expected


def test_a_picture_has_its_name_as_alt_text_unless_it_is_given(tmp_path: Path) -> None:
    server = Server(ok(BLOB, 201), ok(RECEIPT, 201))

    wake(server, "ask", *CONTENT, "--image", picture_and_report(tmp_path)[0], "--wait", "0.1")

    assert body(server, 1)["details"]["blocks"][0]["alt"] == "page.png"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--alt", "The page"], "more --alt than --image"),
        (["--image", "/nowhere/x"], "/nowhere/x"),
        (["--image", "logo.svg"], "not a PNG, JPEG, WebP or GIF"),
    ],
)
def test_files_that_cannot_be_sent_are_named(
    words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture_and_report(tmp_path)
    monkeypatch.chdir(tmp_path)
    server = Server(ok(BLOB, 201))

    with pytest.raises(ValueError, match=reason):
        wake(server, "deliver", "output", *CONTENT, *words)

    assert server.requests == []


@pytest.mark.parametrize(
    ("answer", "status", "printed"),
    [
        (APPROVED, 0, "approved\n"),
        ({**APPROVED, "status": "rejected", "feedback": "No."}, 10, "rejected\n  No.\n"),
        (
            {**APPROVED, "status": "redirected", "edited_content": {"colour": "blue"}},
            11,
            'redirected\n{"colour": "blue"}\n',
        ),
        ({**PENDING, "expired": True}, 12, f"expired\ndelivery_id {ID}\n"),
        (
            {**PENDING, "expired": True, "withdrawn_at": "2026-03-07T09:00:00.123456Z"},
            18,
            f"withdrawn at 2026-03-07T09:00:00Z; people are not asked any more\ndelivery_id {ID}\n",
        ),
    ],
)
def test_the_exit_status_tells_the_answer(
    answer: Any, status: int, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Server(ok(RECEIPT, 201), ok(answer))
    assert wake(asked, "ask", *CONTENT, "--assume", "Red.", "--deadline", "3600") == status
    assert capsys.readouterr().out == printed
    assert (body(asked)["assumption"], body(asked)["timeout_seconds"]) == ("Red.", 3600)

    assert wake(Server(ok(answer)), "check", ID) == status
    assert capsys.readouterr().out == printed


def test_a_question_waits_no_longer_than_it_may(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(ok(RECEIPT, 201), ok(PENDING), takes=1)

    assert wake(server, "ask", *CONTENT, "--wait", "5") == 13

    printed = capsys.readouterr()
    assert printed.out == f"pending\ndelivery_id {ID}\n"
    assert f"wake check {ID}" in printed.err


def test_an_error_names_the_option_and_not_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [
        {"field": "timeout_seconds", "code": "invalid", "message": "Must be 60 or more."},
        {"field": "headline", "code": "invalid", "message": "Too long."},
    ]
    message = "timeout_seconds: Must be 60 or more. headline: Too long."
    refused = {"error": {"code": "invalid_field", "message": message, "fields": problems}}

    assert wake(Server(ok(refused, 422)), "ask", *CONTENT, "--deadline", "30") == 2

    assert capsys.readouterr().err == (
        "wake: --deadline: Must be 60 or more; headline: Too long (invalid_field)\n"
    )


def test_a_withdrawal_sends_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(ok(WITHDRAWN))

    assert wake(server, "withdraw", ID, "--reason", "Painted.") == 0

    assert capsys.readouterr().out == f"withdrawn {ID}\n"
    assert server.requests[0].url.path == f"/wake/v1/withdraw/{ID}"
    assert body(server) == {"reason": "Painted."}


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["deliver", "update", *CONTENT], [ok(RECEIPT, 201)]),
        (["ask", *CONTENT], [ok(RECEIPT, 201), ok(APPROVED)]),
        (["check", ID], [ok(APPROVED)]),
        (["answers"], [ok({"deliveries": [], "total": 0, "has_more": False, "next_since": None})]),
        (["withdraw", ID], [ok(WITHDRAWN)]),
    ],
)
def test_every_command_prints_json_on_request(
    words: list[str], answers: list[httpx.Response], capsys: pytest.CaptureFixture[str]
) -> None:
    assert wake(Server(*answers), *words, "--json") == 0

    assert isinstance(json.loads(capsys.readouterr().out), dict)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (error(401, "unauthorized"), 3),
        (error(404, "not_found"), 4),
        (error(409, "already_answered"), 5),
        (error(422, "invalid_field"), 2),
        (httpx.ConnectError("refused"), 1),
    ],
)
def test_an_error_is_one_line_and_a_status(
    answer: Any, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(answer, httpx.RequestError):
        answer.request = httpx.Request("POST", "https://wake.example.com")

    assert wake(Server(answer), "withdraw", ID) == status

    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("wake: ")


@pytest.mark.parametrize(
    ("words", "missing", "name"),
    [
        (["check", ID], "WAKE_ENDPOINT", "WAKE_ENDPOINT"),
        (["check", ID], "WAKE_API_KEY", "key"),
        (["ask", *CONTENT], "WAKE_AGENT_ID", "WAKE_AGENT_ID"),
        (["deliver", "update", *CONTENT, "--details", "/nowhere/x"], "", "/nowhere/x"),
    ],
)
def test_a_missing_argument_is_named(words: list[str], missing: str, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        wake(Server(ok(RECEIPT, 201)), *words, **({missing: ""} if missing else {}))


def test_the_help_has_an_example_and_the_exit_statuses() -> None:
    command = [sys.executable, "-m", "wake_client", "ask", "--help"]
    help_text = subprocess.run(
        command, cwd=CLIENT, capture_output=True, text=True, check=True
    ).stdout

    assert "wake ask " in help_text
    named = {status for status in ExitStatus if f"  {status.value} " in help_text}
    assert named == set(ExitStatus)


def test_a_repeated_key_says_that_it_was_delivered_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A script that runs again gets the earlier approval, and a person should see that."""
    server = Server(ok(RECEIPT, 201, **{"Idempotency-Replayed": "true"}), ok(APPROVED))

    assert wake(server, "ask", "Deploy?", "Tests pass.", "--idempotency-key", "deploy-42") == 0

    assert "An earlier request with this key delivered it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "why"), [([], "A rule of the team"), (["--irreversible"], "It is irreversible")]
)
def test_a_wait_beyond_the_deadline_has_its_reason(
    flag: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(ok({**RECEIPT, "on_timeout": "hold"}, 201), ok(APPROVED))

    wake(server, "ask", "Deploy?", "Tests pass.", "--deadline", "60", *flag)

    assert why in capsys.readouterr().err


def test_an_approval_is_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    claim = {
        "delivery_id": ID,
        "status": "approved",
        "claimed_at": "2026-03-07T09:15:00Z",
        "claim_id": ID,
    }
    server = Server(ok(claim))

    assert wake(server, "claim", ID, "--digest", "0f6c", "--idempotency-key", "k") == 0

    assert capsys.readouterr().out == f"claimed {ID}\n"
    assert server.requests[0].url.path == f"/wake/v1/claim/{ID}"
    assert server.requests[0].headers["Idempotency-Key"] == "k"
    assert body(server) == {"digest": "0f6c"}


def test_a_claim_of_a_redirected_delivery_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """A script acts on an exit status of 0, so the status must not be 0 if a person changed the
    content."""
    claim = {
        "delivery_id": ID,
        "status": "redirected",
        "claimed_at": "2026-03-07T09:15:00Z",
        "claim_id": ID,
    }

    status = wake(Server(ok(claim)), "claim", ID, "--digest", "0f6c")

    assert status == ExitStatus.REDIRECTED
    assert capsys.readouterr().out == f"claimed {ID}, redirected: do what the answer says\n"


@pytest.mark.parametrize("code", ["already_claimed", "not_approved", "digest_mismatch"])
def test_a_refused_claim_has_a_status_of_its_own(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(error(409, code))

    assert wake(server, "claim", ID, "--digest", "0f6c") == ExitStatus.NOT_CLAIMED
    assert code in capsys.readouterr().err


def test_an_outcome_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    stored = {"delivery_id": ID, "status": "done", "reported_at": "2026-03-07T09:15:00Z"}
    server = Server(ok(stored, 201))

    assert wake(server, "report", ID, "done", "Refund sent.") == 0

    assert capsys.readouterr().out == f"reported {ID}\n"
    assert body(server) == {"status": "done", "summary": "Refund sent."}


def test_a_delivery_asks_for_its_callback_and_the_receipt() -> None:
    server = Server(ok(RECEIPT, 201), ok(RECEIPT, 201))
    url = "https://hooks.example.com/wake"

    wake(server, "deliver", "question", *CONTENT, "--callback", url, "--receipt")
    wake(server, "deliver", "question", *CONTENT)

    asked, usual = body(server), body(server, 1)
    assert (asked["callback_webhook"], asked["receipt"]) == (url, True)
    assert "callback_webhook" not in usual
    assert "receipt" not in usual
