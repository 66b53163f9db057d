"""The snippets of the connect page run unchanged against a server that listens.

n8n and Claude Code are not installed here: the tests read their files and make their requests.
test_frameworks.py has the snippets of the adapters.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import yaml
from django.conf import settings

from accounts.audit import SYSTEM
from accounts.models import Agent
from inbox.agents.connect.snippets import KINDS, fill
from relay.cards.publishing import publish
from tests.inbox.agents.connect.page import Copied, delivered, finished
from tests.inbox.person import Person
from tests.types import Answer
from wake.models import Delivery
from wake_client.connector import cli

EXAMPLES = Path(settings.BASE_DIR, "templates", "inbox", "agents", "connect", "snippets")
HOSTILE = 'it\'s "$(touch x)" `y` \\ <b> \u540d\u524d {{ 1 }}'
LANTERN = {"feedback": "The second.", "edited_json": '{"names": ["Lantern"]}'}


@pytest.mark.parametrize("name", ["python", "wake-client"])
def test_a_python_program_asks_and_prints_the_answer(
    copied: Copied, answer: Answer, python: str, name: str
) -> None:
    page = copied()
    program = page.start(python, page.save(name, "wake_inbox.py"))

    answer(delivered(), "redirected", **LANTERN)

    assert finished(program).endswith("redirected The second. {'names': ['Lantern']}\n")
    assert delivered().details == {"names": ["Harbour", "Lantern"]}


def test_a_node_program_asks_and_prints_the_answer(
    copied: Copied, answer: Answer, node: str
) -> None:
    page = copied()
    program = page.start(node, page.save("node", "wake.mjs"))

    answer(delivered(), "redirected", **LANTERN)

    assert finished(program) == "redirected The second. { names: [ 'Lantern' ] }\n"


def test_a_node_program_that_is_imported_asks_nothing(copied: Copied, node: str) -> None:
    page = copied()
    page.save("node", "wake.mjs")

    printed = page.run(
        node, "-e", "import('./wake.mjs').then(wake => console.log(typeof wake.wait))"
    )

    assert printed == "function\n"
    assert not Delivery.objects.exists()


class Away(ThreadingHTTPServer):
    """Redirects every request to another name of this server, and records the keys that arrive."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SendsAway)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.elsewhere = f"http://localhost:{self.server_port}/elsewhere"
        self.keys: dict[str, str | None] = {}


class _SendsAway(BaseHTTPRequestHandler):
    server: Away

    def do_GET(self) -> None:
        is_elsewhere = self.path == "/elsewhere"
        self.server.keys["elsewhere" if is_elsewhere else "here"] = self.headers["Authorization"]
        body = b'{"status": "approved"}' if is_elsewhere else b""
        self.send_response(200 if is_elsewhere else 302)
        self.send_header("Location", self.server.elsewhere)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


Server = TypeVar("Server", bound=ThreadingHTTPServer)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def away() -> Iterator[Away]:
    with serving(Away()) as server:
        yield server


def test_the_python_program_sends_the_key_to_no_other_server(
    copied: Copied, away: Away, python: str, settings: Any
) -> None:
    settings.WAKE_ORIGIN = away.origin
    page = copied()
    page.save("python", "wake_inbox.py")

    waits = "import wake_inbox; print(wake_inbox.wait({'delivery_id': 'any'})['status'])"
    printed = page.run(python, "-c", waits)

    assert printed == "approved\n"
    key = f"Bearer {page.environment['WAKE_API_KEY']}"
    assert away.keys == {"here": key, "elsewhere": None}


def test_the_node_program_sends_the_key_to_no_other_server(
    copied: Copied, away: Away, node: str, settings: Any
) -> None:
    settings.WAKE_ORIGIN = away.origin
    page = copied()
    page.save("node", "wake.mjs")
    waits = (
        "import('./wake.mjs').then(wake => wake.wait({delivery_id: 'any'}))"
        ".catch(() => console.log('refused'))"
    )

    printed = page.run(node, "-e", waits)

    assert printed == "refused\n"
    assert away.keys == {"here": f"Bearer {page.environment['WAKE_API_KEY']}"}


class PastTheDeadline(ThreadingHTTPServer):
    """Makes each agent wait for its answer, which arrives after the deadline, at the third poll."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _AnswersLate)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.polls = 0


class _AnswersLate(BaseHTTPRequestHandler):
    server: PastTheDeadline

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send({"delivery_id": "7", "status": "received", "on_timeout": "hold"})

    def do_GET(self) -> None:
        self.server.polls += 1
        status = "pending" if self.server.polls < 3 else "rejected"
        self._send({"status": status, "expired": True, "feedback": "No.", "edited_content": None})

    def _send(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def past_the_deadline() -> Iterator[PastTheDeadline]:
    with serving(PastTheDeadline()) as server:
        yield server


def test_a_python_program_that_has_to_wait_waits_after_the_deadline(
    copied: Copied, past_the_deadline: PastTheDeadline, python: str, settings: Any
) -> None:
    """The program used to tell its model to proceed after the deadline."""
    settings.WAKE_ORIGIN = past_the_deadline.origin
    page = copied()
    page.save("python", "wake_inbox.py")

    printed = page.run(
        python,
        "-c",
        "import wake_inbox; wake_inbox.time.sleep = lambda seconds: None; "
        "print(wake_inbox.ask('Two names are ready', 'Pick one.', 'Harbour, or Lantern.'))",
    )

    assert json.loads(printed)["status"] == "rejected"


def test_a_node_program_that_has_to_wait_waits_after_the_deadline(
    copied: Copied, past_the_deadline: PastTheDeadline, node: str, settings: Any
) -> None:
    settings.WAKE_ORIGIN = past_the_deadline.origin
    page = copied()
    page.save("node", "wake.mjs")

    printed = page.run(
        node,
        "-e",
        "const usual = setTimeout; "
        "globalThis.setTimeout = (done, ms) => usual(done, ms === 60000 ? 0 : ms); "
        "import('./wake.mjs').then(async (wake) => "
        "console.log((await wake.wait(await wake.deliver({}))).status))",
    )

    assert printed == "rejected\n"


@pytest.mark.parametrize("agent_id", ["research-agent-01", HOSTILE])
def test_curl_delivers_and_reads(copied: Copied, agent_id: str) -> None:
    Agent.objects.update(agent_id=agent_id)
    page = copied()

    receipt, sweep = page.shell(page.texts["curl"])

    assert receipt["status"] == "received"
    assert [row["delivery_id"] for row in sweep["deliveries"]] == [receipt["delivery_id"]]
    assert delivered().claimed_agent_id == agent_id


@pytest.mark.parametrize("agent_id", ["research-agent-01", HOSTILE])
def test_the_claude_code_skill_has_two_fields_and_its_commands_work(
    copied: Copied, answer: Answer, agent_id: str
) -> None:
    Agent.objects.update(agent_id=agent_id)
    page = copied()
    _, fields, words = page.texts["claude-code"].split("---\n", 2)
    deliver, read = re.findall(r"```sh\n(.*?)```", words, re.DOTALL)

    [receipt] = page.shell(deliver)
    answer(receipt["delivery_id"], "approved", feedback="Good.")
    [answered] = page.shell(read, DELIVERY_ID=receipt["delivery_id"])

    assert set(yaml.safe_load(fields)) == {"name", "description"}
    assert yaml.safe_load(fields)["name"] == "wake"
    assert (answered["status"], answered["feedback"]) == ("approved", "Good.")


def test_the_request_in_the_system_prompt_works(copied: Copied) -> None:
    page = copied()
    prompt = page.texts["system-prompt"]
    body = json.loads(prompt[prompt.index("{\n") : prompt.index("\n  }\n") + 5])
    [url] = re.findall(r"^  POST (\S+)$", prompt, re.MULTILINE)

    for type in re.split(r", | or ", body["type"]):
        headers = {"Authorization": f"Bearer {page.environment['WAKE_API_KEY']}"}
        receipt = httpx.post(url, headers=headers, json={**body, "type": type})
        [path] = re.findall(r"Poll GET (\S+)", prompt)
        polled = httpx.get(path.format(**receipt.json()), headers=headers).json()

        assert receipt.status_code == 201, receipt.text
        assert polled["status"] == "pending"
    assert sorted(Delivery.objects.values_list("type", flat=True)) == sorted(Delivery.Type.values)


def test_the_command_for_a_published_agent_is_valid(
    alices: Person, agent: Agent, alice: Any
) -> None:
    before = alices.get(f"/agents/{agent.pk}/connect/").context["panels"]
    publish(agent, by=SYSTEM, at=agent.created_at)
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)

    [panel] = alices.get(f"/agents/{agent.pk}/connect/").context["panels"]
    words = shlex.split(panel.context["command"])

    assert before == []
    assert words[:2] == ["wake", "connect"]
    given = parser.parse_args(words[2 : words.index("--")])
    assert given.url == panel.context["address"].partition("/@")[0]
    assert given.key is None


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_the_agent_id_replaces_the_example(name: str) -> None:
    example = (EXAMPLES / f"{name}.txt").read_text()
    text = fill(example, HOSTILE, origin="https://inbox.example.org")

    assert "wake.example.com" not in text
    assert "research-agent-01" not in text
    # The key alone says which agent calls over MCP.
    ids = {json.dumps(HOSTILE, ensure_ascii=False), shlex.quote(HOSTILE)}
    assert any(id in text for id in ids) or name.startswith("mcp-")
    assert "https://inbox.example.org" in text


def test_a_prompt_that_lets_a_model_proceed_says_when_it_waits() -> None:
    texts = [path.read_text() for path in EXAMPLES.glob("*.txt")]

    proceeding = [text for text in texts if re.search("expired|answered in time", text)]

    assert len(proceeding) == 4
    assert [text for text in proceeding if "hold" not in text] == []


@pytest.mark.parametrize("name", ["python", "wake-client"])
def test_python_reads_the_agent_id_unchanged(name: str) -> None:
    example = (EXAMPLES / f"{name}.txt").read_text()

    tree = ast.parse(fill(example, HOSTILE, origin="https://inbox.example.org"))

    assert HOSTILE in [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
