"""The other official SDKs talk to the real server, each from an environment of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accounts.models import ApiKey, User
from database.clock import database_now
from tests.fixtures.peers import command
from tests.fixtures.served import served
from tests.wake.server.up import eventually
from wake.mcp import protocol
from wake.mcp.tools import TOOLS
from wake.models import Delivery, Response
from wake.responses import release, respond

pytestmark = [pytest.mark.system, pytest.mark.django_db(transaction=True)]
PEERS = Path(__file__).parent / "peers"
# The modes of the SDKs, and the revision on which each mode agrees with the server.
NEWEST, HANDSHAKE = protocol.STATELESS_VERSION, protocol.HANDSHAKE_VERSIONS[0]
MODES = {
    "python_1": {"": HANDSHAKE},
    "js_1": {"": HANDSHAKE},
    "js_2": {"auto": NEWEST, "legacy": HANDSHAKE, NEWEST: NEWEST},
}
QUESTION = {"headline": "Which name?", "summary": "Both are free.", "options": ["A", "B"]}


def answer(row: Delivery, bob: User) -> None:
    now = database_now()
    response = respond(
        row,
        by=bob,
        status="redirected",
        content_hash=row.content_hash,
        edited_json='{"choice":"B"}',
        at=now,
    )
    assert isinstance(response, Response)
    release(response, at=now)


@pytest.mark.parametrize("interface", ["wsgi", "asgi"])
@pytest.mark.parametrize("peer", MODES)
def test_an_official_sdk_asks_and_reads(peer: str, interface: str, key: ApiKey, bob: User) -> None:
    program = command(PEERS / peer)

    def talk(mode: str, *calls: Any) -> Any:
        words = [*program, f"{origin}/mcp", key.text, json.dumps(calls), mode]  # type: ignore[attr-defined]
        done = subprocess.run(words, capture_output=True, text=True, timeout=90, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    with served(interface) as origin:
        for mode, version in MODES[peer].items():
            asked = talk(mode, ["ask", {**QUESTION, "thread": f"m{mode}", "wait_seconds": 0}])
            row = Delivery.objects.get(thread=f"m{mode}")
            answer(row, bob)
            read = talk(
                mode,
                ["check", {"delivery_id": str(row.pk)}],
                ["answers", {}],
                ["check", {"delivery_id": "nothing"}],
            )

            assert asked["version"] == version
            assert asked["tools"] == list(TOOLS)
            ((is_error, structured, text),) = asked["results"]
            assert not is_error
            assert structured["status"] == "pending"
            assert text.startswith("pending: no decision yet.")
            checked, found, failed = read["results"]
            assert checked[1]["edited_content"] == {"choice": "B"}
            assert str(row.pk) in [each["delivery_id"] for each in found[1]["deliveries"]]
            assert failed[0]
            assert failed[2].startswith("not_found: ")


@pytest.mark.parametrize("peer", MODES)
def test_a_session_outlives_calls_that_fail(peer: str, key: ApiKey) -> None:
    """An unknown tool ended the session of Python 1.x, and an unknown method was "Session
    terminated"."""
    with served("wsgi") as origin:
        for mode, version in MODES[peer].items():
            words = [*command(PEERS / peer, "errors"), f"{origin}/mcp", key.text, mode]  # type: ignore[attr-defined]
            done = subprocess.run(words, capture_output=True, text=True, timeout=90, check=False)

            assert done.returncode == 0, done.stderr
            tool, *methods, strict, arguments = json.loads(done.stdout)
            assert tool[0] == protocol.INVALID_PARAMS
            assert "There is no such tool. The tools are deliver, ask," in tool[1]
            for method in methods:
                # In the newest revision the status has to be 404, which this SDK takes for a
                # failure of HTTP.
                if (peer, version) != ("js_2", NEWEST):
                    assert method[0] == protocol.METHOD_NOT_FOUND
                assert "There is no such method here." in method[1]
            assert "The character U+0000 is not allowed." in strict[1]
            assert arguments[0] == 0
            assert arguments[1].startswith("invalid_field: delivery: check takes delivery_id,")
            assert not any(is_error for _, _, is_error in (tool, *methods, strict, arguments))


def test_an_answer_waits_for_the_next_session_if_its_caller_is_killed(
    key: ApiKey, bob: User
) -> None:
    with served("asgi") as origin:
        words = [*command(PEERS / "python_1"), f"{origin}/mcp", key.text]  # type: ignore[attr-defined]
        question = {**QUESTION, "wait_seconds": 50}
        asking = subprocess.Popen(
            [*words, json.dumps([["ask", question]]), ""],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        row = eventually(Delivery.objects.first)
        asking.kill()
        asking.wait()
        answer(row, bob)
        found = subprocess.run(
            [*words, json.dumps([["answers", {}]]), ""],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    assert asking.returncode < 0, "It ended before it was killed."
    assert found.returncode == 0, found.stderr
    ((is_error, structured, _),) = json.loads(found.stdout)["results"]
    assert not is_error
    (only,) = structured["deliveries"]
    assert (only["delivery_id"], only["edited_content"]) == (str(row.pk), {"choice": "B"})


def test_a_question_is_a_task(key: ApiKey, bob: User) -> None:
    with served("wsgi") as origin:
        words = [*command(PEERS / "js_2", "tasks"), f"{origin}/mcp", key.text]  # type: ignore[attr-defined]
        asking = subprocess.Popen(
            [*words, json.dumps(QUESTION)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asking.stdout is not None
        kind, task_id = json.loads(asking.stdout.readline() or "[0, 0]")
        working = json.loads(asking.stdout.readline() or "[0]")
        answer(Delivery.objects.get(), bob)
        rest, errors = asking.communicate(timeout=60)

        cancelling = subprocess.run(
            [*words, json.dumps({**QUESTION, "summary": "Another."}), "cancel"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert asking.returncode == 0, errors
    answered = Delivery.objects.get(answered_at__isnull=False)
    assert (kind, task_id) == ("task", str(answered.pk))
    assert working[0] == "working"
    status, result = json.loads(rest.splitlines()[-1])
    assert status == "completed", result
    assert result["structuredContent"]["edited_content"] == {"choice": "B"}
    assert result["content"][0]["text"].startswith("redirected: ")
    assert cancelling.returncode == 0, cancelling.stderr
    assert json.loads(cancelling.stdout.splitlines()[-1])[0] == "cancelled"
    assert Delivery.objects.get(answered_at__isnull=True).withdrawn_reason


@pytest.mark.parametrize(("mode", "version"), [("auto", NEWEST), ("legacy", HANDSHAKE)])
def test_a_host_of_cards_finds_and_reads_the_card(mode: str, version: str, key: ApiKey) -> None:
    program = command(PEERS / "js_apps")
    question = json.dumps({**QUESTION, "wait_seconds": 0})
    with served("wsgi") as origin:
        words = [*program, f"{origin}/mcp", key.text, question, mode]  # type: ignore[attr-defined]
        done = subprocess.run(words, capture_output=True, text=True, timeout=90, check=False)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["version"] == version
    assert [name for name, uri in seen["cards"].items() if uri] == ["ask", "check"]
    assert [each["uri"] for each in seen["resources"]] == [seen["cards"]["ask"]]
    assert seen["contents"][0]["mimeType"] == "text/html;profile=mcp-app"
    assert seen["result"]["_meta"]["wake/card"]["headline"] == QUESTION["headline"]
    assert seen["result"]["structuredContent"]["status"] == "pending"
