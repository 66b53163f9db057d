"""A caller asks an offline agent over A2A. The agent comes online and asks back, a person
answers with an edit, and the artifact is pushed to the caller and to the next agent."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.fixtures.migrated import migrated_folder
from tests.relay.conformance.caller import Caller
from tests.relay.conformance.server import Relay, connected, manage
from tests.wake.callbacks.receiver import Receiver
from tests.wake.server.up import Up, clean_environment, eventually, free_port, printed

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.system,
]

EDITED = {"title": "Release notes", "audience": "customers"}


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    port, data = free_port(), migrated_folder(tmp_path / "data")
    environment = clean_environment(WAKE_DATA=str(data), PORT=str(port), WAKE_HOLD_SECONDS="0")
    up = Up(data, port, environment)
    try:
        up.start().once_greeted()
        for agent in ("writer", "editor"):
            manage(up, "publish_agent", agent, "--input-mode", "*/*")
        yield Relay(up, "home", "writer", manage(up, "issue_caller_key", "release robot"))
    finally:
        up.kill_everything()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


def test_from_a_caller_to_the_next_agent(
    relay: Relay, receiver: Receiver, chromium: Browser, tmp_path: Path
) -> None:
    up = relay.up
    caller = Caller(relay.url, "1.0", key=relay.caller_key)
    editor = Caller(f"{up.url}/@home/editor", "1.0", key=relay.caller_key)

    # No connector is online, so the task waits and the caller gets its answer at once.
    task = caller.send("tck-propose")["task"]
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    for config in (
        {"id": "me", "url": receiver.url},
        {"id": "next", "url": editor.url, "token": relay.caller_key},
    ):
        caller.result("CreateTaskPushNotificationConfig", {"taskId": task["id"], **config})

    with connected(up, manage(up, "issue_key", "writer"), tmp_path / "writer"):
        eventually(lambda: _state(caller, task["id"]) == "TASK_STATE_INPUT_REQUIRED")
        page = _signed_in(chromium, up)
        _redirect(page, "Is this the right audience?", EDITED["audience"])
        eventually(lambda: _state(caller, task["id"]) == "TASK_STATE_COMPLETED")

    done = caller.result("GetTask", {"id": task["id"]})
    assert done["artifacts"][0]["parts"][0]["data"] == EDITED
    pushes = eventually(lambda: [push for push in receiver.received if "task" in push.json][-1:])
    assert pushes[0].json["task"]["id"] == task["id"]
    following = eventually(lambda: editor.result("ListTasks", {"pageSize": 1})["tasks"])
    with connected(up, manage(up, "issue_key", "editor"), tmp_path / "editor"):
        eventually(lambda: _state(editor, following[0]["id"]) == "TASK_STATE_COMPLETED")
    started_with = editor.result("GetTask", {"id": following[0]["id"]})["history"][0]
    assert EDITED in [part.get("data") for part in started_with["parts"]]


def _state(caller: Caller, task_id: str) -> Any:
    return caller.result("GetTask", {"id": task_id})["status"]["state"]


def _signed_in(chromium: Browser, up: Up) -> Page:
    page = chromium.new_page()
    page.goto(f"{up.url}/login/")
    page.get_by_label("E-mail").fill(printed("Sign in", up.output))
    page.get_by_label("Password", exact=True).fill(printed("Password", up.output))
    page.get_by_role("button", name="Sign in").click()
    return page


def _redirect(page: Page, headline: str, audience: str) -> None:
    page.get_by_role("link", name=re.compile(headline)).first.click()
    assert "release robot" in page.inner_text("main")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Edit and send back").click()
    page.get_by_label("audience").fill(audience)
    page.get_by_role("button", name="Send changes").click()
    page.wait_for_load_state()
