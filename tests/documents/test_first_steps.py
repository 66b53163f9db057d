"""The commands of README.md, docs/quickstart.md, docs/connect.md and client/README.md work."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from PIL import Image

from tests.documents.blocks import documented
from tests.documents.terminal import PATIENCE_SECONDS, Terminal
from tests.stress.faults.site import PersonAt

pytestmark = [pytest.mark.system, pytest.mark.once]


def test_the_first_delivery_of_the_readme(terminal: Terminal, person: PersonAt) -> None:
    receipt = terminal.json(documented("README.md", '"type": "output"'))
    person.answer(receipt["delivery_id"], feedback="Well done.")

    poll = documented("README.md", "/wake/v1/response/DELIVERY_ID")
    answer = terminal.json(poll.replace("DELIVERY_ID", receipt["delivery_id"]))

    assert (answer["status"], answer["feedback"]) == ("approved", "Well done.")


def test_the_python_program_of_the_readme(terminal: Terminal, person: PersonAt) -> None:
    program = documented("README.md", "urllib.request").replace("sleep(5)", "sleep(0.1)")

    with terminal.python(program) as process:
        person.answer(terminal.newest_delivery(), feedback="Harbour.")
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert output == "approved Harbour. None\n", errors


def test_the_first_question_of_the_quickstart(terminal: Terminal, person: PersonAt) -> None:
    receipt = terminal.json(documented("docs/quickstart.md", '"type": "question"'))
    person.answer(receipt["delivery_id"], feedback="Harbour.")

    wait = documented("docs/quickstart.md", "?wait=25")
    answer = terminal.json(wait, DELIVERY_ID=receipt["delivery_id"])

    assert (answer["status"], answer["feedback"]) == ("approved", "Harbour.")


def test_the_python_program_of_the_quickstart(terminal: Terminal, person: PersonAt) -> None:
    with terminal.python(documented("docs/quickstart.md", "import WakeClient")) as process:
        person.answer(terminal.newest_delivery(), feedback="Harbour.")
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert output == "approved Harbour. None\n", errors


@pytest.mark.parametrize(
    "script",
    [
        documented("docs/quickstart.md", "wake ask"),
        documented("client/README.md", 'wake ask "Two colours are left"'),
    ],
    ids=["quickstart", "client"],
)
def test_a_question_from_the_command_line(
    terminal: Terminal, person: PersonAt, script: str
) -> None:
    script = script.replace("painter", terminal.environment["WAKE_AGENT_ID"])

    with terminal.start(script) as process:
        person.answer(terminal.newest_delivery())
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 0, output + errors


def test_a_question_with_options(terminal: Terminal, person: PersonAt) -> None:
    script = documented("client/README.md", "--recommend B")

    with terminal.start(script) as process:
        answered = person.answer(terminal.newest_delivery(), status="rejected")
        process.communicate(timeout=PATIENCE_SECONDS)

    assert answered.status_code == 303
    assert process.returncode == 10


@pytest.mark.parametrize(
    "script",
    [
        documented("README.md", "claude mcp add"),
        documented("docs/quickstart.md", "claude mcp add"),
        documented("docs/connect.md", "--header"),
    ],
    ids=["readme", "quickstart", "connect"],
)
def test_the_settings_of_claude_code_reach_the_server(terminal: Terminal, script: str) -> None:
    terminal.run(script)

    called = (terminal.folder / "called").read_text().splitlines()
    name, _, value = called[-1].partition(": ")
    url = next(word for word in called if word.startswith("http:"))
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx.post(url, json=listed, headers={name: value})
    assert called[:2] == ["mcp", "add"]
    assert "ask" in [tool["name"] for tool in answer.json()["result"]["tools"]]


@pytest.mark.parametrize(
    "script",
    [
        documented("docs/connect.md", "claude mcp login"),
        documented("docs/connect.md", "codex mcp login"),
        documented("docs/connect.md", "gemini mcp add"),
    ],
    ids=["claude", "codex", "gemini"],
)
def test_a_client_without_a_key_is_asked_to_sign_in(terminal: Terminal, script: str) -> None:
    terminal.run(script)

    called = (terminal.folder / "called").read_text().splitlines()
    [url] = [word for word in called if word.startswith("http:")]
    refused = httpx.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    [metadata] = re.findall('resource_metadata="(.+?)"', refused.headers["WWW-Authenticate"])
    assert called[:2] == ["mcp", "add"]
    assert refused.status_code == 401
    assert httpx.get(metadata).json()["resource"] == url


@pytest.mark.parametrize(
    "script",
    [
        documented("README.md", "wake hook install claude-code"),
        documented("docs/quickstart.md", "wake hook install claude-code"),
        documented("docs/connect.md", "wake hook install claude-code"),
    ],
    ids=["readme", "quickstart", "connect"],
)
def test_the_hook_is_installed(terminal: Terminal, script: str) -> None:
    terminal.run(script.replace("painter", terminal.environment["WAKE_AGENT_ID"]))

    settings = json.loads((terminal.folder / ".claude/settings.json").read_text())
    assert "PermissionRequest" in settings["hooks"]
    checked = documented("client/README.md", "wake hook doctor").splitlines()[-1]
    assert "claude-code" in terminal.run(f"{checked} || true")


@pytest.mark.parametrize(
    "script",
    [
        documented("docs/connect.md", "pip install ./client\nwake login"),
        documented("docs/acp.md", "wake login"),
    ],
    ids=["connect", "acp"],
)
def test_the_key_is_stored(terminal: Terminal, script: str) -> None:
    agent = terminal.environment["WAKE_AGENT_ID"]
    for example in ("painter", "coder"):
        script = script.replace(example, agent)
    terminal.run(script)

    del terminal.environment["WAKE_API_KEY"]
    assert terminal.run("wake answers --json") is not None


def test_an_upload_with_curl(terminal: Terminal) -> None:
    Image.new("RGB", (1280, 800)).save(terminal.folder / "page.png")

    blob = terminal.json(documented("docs/protocol.md", "--data-binary @page.png"))

    assert (blob["media_type"], blob["width"], blob["height"]) == ("image/png", 1280, 800)


def test_pictures_and_files_from_python(
    terminal: Terminal, person: PersonAt, tmp_path: Path
) -> None:
    for name in ("before.png", "after.png"):
        Image.new("RGB", (64, 40)).save(terminal.folder / name)
    (terminal.folder / "contrast.csv").write_text("page,ratio\nprices,7.1\n")
    agent = terminal.environment["WAKE_AGENT_ID"]
    program = documented("docs/connect.md", "wake.upload").replace("site-gardener", agent)

    values = f"endpoint, key = {terminal.up.url!r}, {terminal.key!r}\n"
    with terminal.python(values + program) as process:
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 0, errors
    page = person.read(terminal.newest_delivery()).text
    assert "contrast.csv" in page


CLIENT = """
import os
from wake_client import WakeClient
wake = WakeClient(
    os.environ["WAKE_ENDPOINT"], os.environ["WAKE_API_KEY"], agent_id=os.environ["WAKE_AGENT_ID"]
)
"""


def test_the_first_program_of_the_client(terminal: Terminal, person: PersonAt) -> None:
    agent = terminal.environment["WAKE_AGENT_ID"]
    program = documented("client/README.md", "with WakeClient(").replace("painter", agent)

    with terminal.python(program) as process:
        person.answer(terminal.newest_delivery())
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert output == "red\n", errors


def test_the_book_of_the_client(terminal: Terminal, person: PersonAt) -> None:
    program = documented("client/README.md", 'wake.book("questions.json")')

    with terminal.python(f"{CLIENT}{program}print(answer.status)\n") as process:
        person.answer(terminal.newest_delivery())
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert output == "approved\n", errors


def test_the_sweep_and_the_uploads_of_the_client(terminal: Terminal) -> None:
    Image.new("RGB", (64, 40)).save(terminal.folder / "page.png")
    (terminal.folder / "report.pdf").write_bytes(b"%PDF-1.7\n%%EOF\n")
    sweep = documented("client/README.md", "wake.responses(since=last_time)")
    uploads = documented("client/README.md", 'wake.upload("report.pdf")')

    program = f"{CLIENT}last_time = None\n{sweep}from wake_client import blocks\n{uploads}"
    with terminal.python(f"{program}print(details['blocks'][1]['type'])\n") as process:
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert output.splitlines()[-1:] == ["file"], errors
