"""The package of client-js/ works with a real server: as a module, required, and in the VM of an
edge runtime."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from accounts.models import Agent
from inbox.agents.connect.snippets import snippets
from tests.client_js.calls import Calls, Refused
from tests.client_js.projects import Project
from tests.documents.blocks import documented
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.wake.blobs.drawing import drawn
from wake.callbacks import signatures
from wake.models import Claim, Delivery, Outcome

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
QUESTION = {
    "type": "question",
    "headline": "Two colours are left für den Zaun 🎨",
    "summary": "Approve red, or redirect me with another.",
    "details": {"colours": ["red", "blue"], "litres": 1.5},
    "timeout_seconds": 3600,
    "assumption": "Red.",
    "on_timeout": "hold",
    "thread": "fence",
    "digest": True,
}


@pytest.mark.parametrize("program", ["module.mjs", "required.cjs", "edge.mjs"])
def test_a_question_is_asked_answered_used_and_swept(
    program: str,
    project: Project,
    start: Callable[..., Calls],
    caller: AgentClient,
    agent: Agent,
    answer: Callable[..., Any],
    subtests: pytest.Subtests,
) -> None:
    with served("asgi") as origin:
        client = start(
            project.command(program),
            ORIGIN=origin,
            KEY=caller.key.text,  # type: ignore[attr-defined]
            AGENT_ID=agent.agent_id,
            TOOLS=str(project.workshop),
        )
        receipt = client.call("deliver", QUESTION)
        pk, digest = receipt["delivery_id"], receipt["digest"]
        delivery = Delivery.objects.get()
        with subtests.test("it arrived as it was sent"):
            assert (str(delivery.pk), delivery.thread) == (pk, "fence")
            assert delivery.headline == QUESTION["headline"]
        with subtests.test("it is pending"):
            assert client.call("response", pk)["status"] == "pending"
        with subtests.test("it cannot be used yet"):
            with pytest.raises(Refused) as early:
                client.call("claim", pk, digest)
            assert (early.value.name, early.value.code) == ("NotClaimed", "not_approved")
        with subtests.test("an answer ends the wait, and is for what was sent"):
            client.send("wait", receipt)
            answer(delivery, "redirected", edited_json='{"colour": "blue"}')
            answered = client.result()
            assert (answered["status"], answered["digest"]) == ("redirected", digest)
            assert answered["edited_content"] == {"colour": "blue"}
        with subtests.test("it is used once, and its outcome is reported"):
            claim = client.call("claim", pk, digest, {"idempotencyKey": "once"})
            assert claim["claim_id"] == str(Claim.objects.get().pk)
            assert client.call("claim", pk, digest, {"idempotencyKey": "once"})["replayed"]
            with pytest.raises(Refused) as second:
                client.call("claim", pk, digest)
            assert second.value.code == "already_claimed"
            client.call("report", pk, "done", "Painted.", {"details": {"litres": 2}})
            outcome = Outcome.objects.get()
            assert (outcome.summary, outcome.details) == ("Painted.", {"litres": 2})
        with subtests.test("a sweep brings it once"):
            sweep = client.call("sweep", None)
            assert sweep["answers"] == [answered]
            assert client.call("sweep", sweep["nextSince"])["answers"] == []
        with subtests.test("the same key of one's own is the same delivery"):
            update = {"type": "update", "headline": "Painted", "summary": "All of it."}
            first, again = (client.call("deliver", update, {"idempotencyKey": "m"}) for _ in "12")
            assert (first["replayed"], again["replayed"]) == (False, True)
            assert first["delivery_id"] == again["delivery_id"]
        with subtests.test("a picture is uploaded, and covered by the digest"):
            upload = client.call("uploadBytes", base64.b64encode(drawn()).decode())
            shown = client.call("image", upload, "A gradient")
            stored = client.call("deliver", {**QUESTION, "details": shown})
            assert stored["files"] == [upload["sha256"]]
        with subtests.test("a withdrawn question ends the wait"):
            client.call("withdraw", stored["delivery_id"], "Not needed.")
            assert client.call("wait", stored)["withdrawn_at"]
        with subtests.test("a field that does not fit is named"):
            with pytest.raises(Refused, match="headline") as refused:
                client.call("deliver", {**QUESTION, "headline": "x" * 121})
            assert refused.value.name == "NotAccepted"
        with subtests.test("another key is refused"):
            with pytest.raises(Refused) as unknown:
                client.call("withKey", "wk_live_made_up")
            assert (unknown.value.name, unknown.value.code) == ("KeyNotValid", "unauthorized")
        with subtests.test("a callback of the server is verified"):
            body = json.dumps(answered)
            signed = signatures.sign(
                body.encode(), secrets=(SECRET,), message_id="m", at=datetime.now(UTC)
            )
            assert client.call("verify", body, signed, SECRET) == answered
            with pytest.raises(Refused) as forged:
                client.call("verify", body + " ", signed, SECRET)
            assert forged.value.name == "SignatureMismatch"


def test_the_program_of_the_quickstart_asks(
    project: Project,
    caller: AgentClient,
    agent: Agent,
    answer: Callable[..., Any],
) -> None:
    script = documented("docs/quickstart.md", "node ask.mjs")
    with served("asgi") as origin:
        script = script.replace("http://127.0.0.1:8000", origin)
        example = subprocess.Popen(
            ["/bin/bash", "-euc", script.replace("my-first-agent", agent.agent_id)],
            cwd=project.folder,
            env=project.environment(WAKE_API_KEY=caller.key.text),  # type: ignore[attr-defined]
            stdout=subprocess.PIPE,
            text=True,
        )
        with example:
            answer(_delivered(), "redirected", feedback="Blue.")
            printed, _ = example.communicate(timeout=60)

    assert printed == "Blue. null\n"


def test_the_program_of_the_connect_page_asks(
    project: Project,
    caller: AgentClient,
    agent: Agent,
    answer: Callable[..., Any],
    settings: Any,
) -> None:
    with served("asgi") as origin:
        settings.WAKE_ORIGIN = origin
        [text] = [each.text for each in snippets(agent) if each.name == "wake-client-js"]
        (project.folder / "connect.mjs").write_text(text)
        key: str = caller.key.text  # type: ignore[attr-defined]
        program = subprocess.Popen(
            project.command("connect.mjs"),
            cwd=project.folder,
            env=project.environment(WAKE_API_KEY=key),
            stdout=subprocess.PIPE,
            text=True,
        )
        with program:
            answer(_delivered(), "redirected", feedback="Lantern.")
            printed, _ = program.communicate(timeout=60)

    assert printed == "redirected Lantern. null\n"


def _delivered() -> Delivery:
    """Waits until the program has delivered its question."""
    until = time.monotonic() + 60
    while not (delivery := Delivery.objects.first()) and time.monotonic() < until:
        time.sleep(0.05)
    assert delivery
    return delivery
