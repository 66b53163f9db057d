"""The commands of docs/a2a.md, and those of README.md about A2A, work in their order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.documents.blocks import documented
from tests.documents.terminal import Terminal
from tests.stress.faults.site import PersonAt
from tests.wake.server.up import eventually

pytestmark = [pytest.mark.system, pytest.mark.once]


def test_the_commands_of_the_readme(terminal: Terminal) -> None:
    *_, machine, caller = _keys(terminal, documented("README.md", "publish_agent painter"))
    connect = documented("README.md", "wake connect").replace("wk_live_...", machine)
    call = documented("README.md", '"The fence, please"').replace("wk_call_...", caller)

    with terminal.in_background(connect):
        task = _once_connected(terminal, call)

    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "Painted." in json.dumps(task)

    (terminal.folder / "agent.sh").write_text(documented("client/README.md", "#!/bin/sh"))
    script = documented("client/README.md", "chmod +x agent.sh").replace("wk_live_...", machine)
    with terminal.in_background(script):
        asked = eventually(lambda: _if_asking(terminal.json(call)["result"]["task"]))

    assert asked


@pytest.fixture
def reviewer(terminal: Terminal) -> Iterator[str]:
    """Connects the agent of the document, and yields a caller key."""
    terminal.run(documented("docs/a2a.md", "publish_agent reviewer"))
    [machine] = _keys(terminal, documented("docs/a2a.md", "issue_key reviewer"))
    issue, export = documented("docs/a2a.md", 'issue_caller_key "Build server"').splitlines()
    [caller] = _keys(terminal, issue)
    assert export == "export WAKE_CALLER_KEY=wk_call_..."
    (terminal.folder / "agent.py").write_text(documented("docs/a2a.md", "json.load(sys.stdin)"))
    connect = documented("docs/a2a.md", "wake connect --url").replace("wk_live_...", machine)
    with terminal.in_background(connect):
        yield caller


def test_the_commands_of_the_document(terminal: Terminal, person: PersonAt, reviewer: str) -> None:
    terminal.environment["WAKE_CALLER_KEY"] = reviewer

    first = _once_connected(terminal, documented("docs/a2a.md", '"messageId": "1"'))
    assert "I read: Hello" in json.dumps(first)
    asked = terminal.json(documented("docs/a2a.md", '"messageId": "2"'))["result"]
    assert asked["status"]["state"] == "input-required"

    person.answer(_delivery_in(person))
    get = documented("docs/a2a.md", '"tasks/get"').replace("TASK_ID", asked["id"])
    done = eventually(lambda: _if_completed(terminal.json(get)["result"]))
    assert "A person said: approved." in json.dumps(done)

    stream = terminal.run(documented("docs/a2a.md", "SendStreamingMessage"))
    assert "TASK_STATE_COMPLETED" in stream

    chained = documented("docs/a2a.md", "publish_agent summary")
    publish, _, call = chained.partition("\n\n")
    terminal.run(publish)
    assert "result" in terminal.json(call)


def _keys(terminal: Terminal, commands: str) -> list[str]:
    words = terminal.run(commands).split()
    return [word for word in words if word.startswith(("wk_live_", "wk_call_"))]


def _once_connected(terminal: Terminal, call: str) -> dict[str, Any]:
    """Sends until the connector takes the task: without one, a send returns a task that waits."""

    def sent() -> dict[str, Any]:
        task = terminal.json(call)["result"]
        task = task.get("task", task)
        return dict(_if_completed(task))

    return dict(eventually(sent))


def _if_completed(task: dict[str, Any]) -> dict[str, Any]:
    return task if "ompleted" in json.dumps(task["status"]).replace("OMPLETED", "ompleted") else {}


def _if_asking(task: dict[str, Any]) -> bool:
    return "INPUT_REQUIRED" in json.dumps(task["status"])


def _delivery_in(person: PersonAt) -> str:
    page = person.client.get("/").text
    return page.partition('href="/deliveries/')[2][:36]
