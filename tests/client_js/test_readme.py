"""The programs of client-js/README.md work with a real server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.models import Agent
from tests.client_js.projects import Project
from tests.documents.blocks import documented
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.wake.server.up import eventually
from wake.callbacks import signatures
from wake.models import Delivery, Outcome

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
# The body of a callback, as far as docs/protocol.md requires.
ANSWER = {
    "delivery_id": "550e8400-e29b-41d4-a716-446655440000",
    "status": "approved",
    "feedback": None,
    "edited_content": None,
    "responded_at": "2026-11-26T10:00:00Z",
}
FIRST = documented("client-js/README.md", "await wake.ask({")
# The client of the first program.
CLIENT = FIRST.partition("const answer")[0]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(project: Project, caller: AgentClient, agent: Agent) -> Iterator[Start]:
    """Returns a function that starts a program of the page."""
    with served("asgi") as origin:

        def begin(text: str, **environment: str) -> subprocess.Popen[str]:
            (project.folder / "page.mjs").write_text(text.replace("painter", agent.agent_id))
            key: str = caller.key.text  # type: ignore[attr-defined]
            return subprocess.Popen(
                project.command("page.mjs"),
                cwd=project.folder,
                env=project.environment(WAKE_ENDPOINT=origin, WAKE_API_KEY=key, **environment),
                stdout=subprocess.PIPE,
                text=True,
            )

        yield begin


def printed_by(program: subprocess.Popen[str], *, after: Callable[[], object] = list) -> str:
    """Returns what the program prints until its end."""
    with program:
        after()
        output, _ = program.communicate(timeout=60)
    assert program.returncode == 0, output
    return output


def delivered() -> Delivery:
    result: Delivery = eventually(Delivery.objects.first)
    return result


@pytest.mark.parametrize(
    ("status", "feedback", "printed"),
    [
        ("approved", "", "red\n"),
        ("redirected", "Green.", "Green. null\n"),
        ("rejected", "Leave it.", "not at all: Leave it.\n"),
    ],
)
def test_the_first_program(
    start: Start, answer: Callable[..., Any], status: str, feedback: str, printed: str
) -> None:
    program = start(FIRST)

    output = printed_by(program, after=lambda: answer(delivered(), status, feedback=feedback))

    assert output == printed


def test_an_approval_is_used_once(start: Start, answer: Callable[..., Any]) -> None:
    program = documented("client-js/README.md", "await wake.claim(")
    refund = "const refund = async (...given) => console.log(...given);\n"

    output = printed_by(start(CLIENT + refund + program), after=lambda: answer(delivered()))

    assert output == "4711 18000\n"
    outcome = Outcome.objects.get()
    assert (outcome.status, outcome.summary) == ("done", "Refund re_3F sent.")


def test_a_callback_is_verified(start: Start) -> None:
    body = json.dumps(ANSWER)
    headers = signatures.sign(
        body.encode(), secrets=(SECRET,), message_id="m", at=datetime.now(UTC)
    )
    received = """
const { SECRET: secret, BODY: body, HEADERS } = process.env;
const headers = JSON.parse(HEADERS);
const request = new Request("https://hooks.example.com", { method: "POST", body, headers });
"""
    program = documented("client-js/README.md", "await verify(")

    output = printed_by(
        start(
            f"{received}{program}console.log(answer.status);",
            SECRET=SECRET,
            BODY=body,
            HEADERS=json.dumps(headers),
        )
    )

    assert output == "approved\n"


def test_an_answer_is_found_after_a_restart(start: Start, answer: Callable[..., Any]) -> None:
    program = CLIENT + documented("client-js/README.md", "fileBook(wake")
    process = start(program.replace("// ...", "console.log(answer.status);"))
    delivered()
    process.kill()
    process.communicate()
    again = start(program.replace("// ...", "console.log(answer.status);"))

    output = printed_by(again, after=lambda: answer(delivered()))

    assert output == "approved\n"
    assert Delivery.objects.count() == 1


def test_the_blocks_are_accepted(start: Start) -> None:
    program = CLIENT + documented("client-js/README.md", "blocks.page(")
    deliver = """
const headline = "Prices", summary = "Two ways to price it.";
await wake.deliver({ type: "output", headline, summary, details });
"""

    printed_by(start(program + deliver))

    kinds = [block["type"] for block in delivered().details["blocks"]]
    assert kinds == ["markdown", "choice", "choice"]
