"""`wake acp` stands between an editor and an agent on the official SDKs, with a real server. A
person answers on the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey
from tests.client.connector.relay import CLIENT
from tests.fixtures.peers import command
from tests.inbox.person import Person
from tests.wake.server.up import eventually
from wake.models import Claim, Delivery, Outcome, Response
from wake.responses import release

pytestmark = pytest.mark.peers
PEERS = Path(__file__).parent / "peers"
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(params=["python", "js"], ids="editor-{}".format)
def editor_sdk(request: pytest.FixtureRequest) -> Path:
    return PEERS / str(request.param)


@pytest.fixture(params=["python", "js"], ids="agent-{}".format)
def agent_sdk(request: pytest.FixtureRequest) -> Path:
    return PEERS / str(request.param)


@pytest.fixture
def start(
    editor_sdk: Path, agent_sdk: Path, live_server: LiveServer, key: ApiKey, tmp_path: Path
) -> Callable[[str], subprocess.Popen[str]]:
    """Starts the editor, which starts the proxy, which starts the agent."""
    words = [sys.executable, "-m", "wake_client", "acp", "--", *command(agent_sdk, "agent")]
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CLIENT),
        "HOME": str(tmp_path),
        "WAKE_ENDPOINT": live_server.url,
        "WAKE_API_KEY": key.text,  # type: ignore[attr-defined]
        "WAKE_AGENT_ID": "research-agent-01",
    }

    def started(button: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*command(editor_sdk, "editor"), button, str(tmp_path), *words],
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    return started


def ended(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Returns the events that the editor saw."""
    printed, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    return [json.loads(line) for line in printed.splitlines()]


def runs(folder: Path) -> int:
    path = folder / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize(
    ("status", "more", "chosen"),
    [
        ("approved", {}, "yes"),
        ("chosen", {"choice": "1"}, "always"),
        ("chosen", {"choice": "2"}, "yes"),
        ("chosen", {"choice": "3"}, "no"),
        ("rejected", {"feedback": "Not on a Friday."}, "no"),
    ],
)
def test_a_person_answers_in_wake(
    status: str,
    more: dict[str, str],
    chosen: str,
    editor_sdk: Path,
    start: Start,
    alices: Person,
    tmp_path: Path,
) -> None:
    process = start("none")
    delivery: Delivery = eventually(Delivery.objects.first)

    assert alices.answer(delivery, status, **more).status_code == 303
    response = Response.objects.get(delivery=delivery)
    release(response, at=response.answered_at)
    events = ended(process)

    is_allowed = chosen != "no"
    call = "completed" if is_allowed else "failed"
    end = [{"ended": "dialog"}] if editor_sdk.name == "js" else []
    assert [event for event in events if event not in end] == [
        *({"call": "pending"}, {"dialog": ["always", "yes", "no"]}),
        *({"call": call}, {"said": chosen}, {"stop": "end_turn"}),
    ]
    assert [event for event in events if event in end] == end
    assert delivery.headline == f"Allow `npm publish` in {tmp_path.name}?"
    assert runs(tmp_path) == is_allowed
    assert Claim.objects.filter(response__delivery=delivery).exists() == is_allowed
    outcomes = Outcome.objects.filter(delivery=delivery).values_list("status", flat=True)
    assert list(outcomes) == (["done"] if is_allowed else [])


@pytest.mark.parametrize(
    ("button", "said", "stop", "reason"),
    [
        ("yes", "yes", "end_turn", "A person answered in the editor."),
        ("no", "no", "end_turn", "A person answered in the editor."),
        ("stop", "cancelled", "cancelled", "The agent's turn was cancelled in the editor."),
    ],
)
def test_a_person_answers_in_the_editor(
    button: str, said: str, stop: str, reason: str, start: Start, tmp_path: Path
) -> None:
    events = ended(start(button))

    assert events[-2:] == [{"said": said}, {"stop": stop}]
    assert runs(tmp_path) == (button == "yes")
    delivery: Delivery = eventually(Delivery.objects.filter(withdrawn_at__isnull=False).first)
    assert delivery.withdrawn_reason == reason
    assert not Claim.objects.exists()
    assert not Outcome.objects.exists()
