"""A driver answers each wish with one line, whether the person could do it or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.people import PASSWORD
from tests.wake.server.up import ROOT, eventually
from wake.models import Delivery
from wake_check.drivers import terminal
from wake_check.drivers.wake import Inbox
from wake_check.drivers.wishes import CannotAnswer
from wake_check.people import Driver, Wish
from wake_check.preparing import people_of

ECHO = """
import json, sys
for line in sys.stdin:
    wish = json.loads(line)
    if wish["status"] == "rejected":
        print("not JSON", flush=True)
    elif wish["status"] == "redirected":
        sys.exit(3)
    else:
        print(json.dumps({"done": True}), flush=True)
"""
VARIABLES = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "check")}
WISH = {
    "wish": "answer",
    "delivery_id": "550e8400-e29b-41d4-a716-446655440000",
    "headline": "Please redirect",
    "status": "redirected",
    "feedback": "Cut it.",
    "edited_content": {"a": 1},
}
# Makes the terminal of the test the terminal of the driver, as a login does.
WITH_TERMINAL = """
import os, sys
os.open(sys.argv[1], os.O_RDWR)
os.execv(sys.executable, [sys.executable, "-m", "wake_check.drivers.terminal"])
"""


def test_each_line_settles_one_wish() -> None:
    driver = Driver([sys.executable, "-c", ECHO], VARIABLES)
    wishes = [Wish({"status": status}) for status in ("approved", "rejected", "redirected")]

    for wish in wishes:
        driver.ask(wish)
    eventually(lambda: all(wish.is_done for wish in wishes))
    late = Wish({"status": "approved"})
    driver.close()
    driver.ask(late)

    assert [wish.is_granted for wish in wishes] == [True, False, False]
    assert wishes[1].reason == "The driver wrote no answer, but: not JSON"
    assert wishes[2].reason == late.reason == "The driver has ended."


@pytest.mark.parametrize(
    ("typed", "reason"), [("\n", None), ("There is no such button.\n", "There is no such button.")]
)
def test_the_tester_says_whether_it_is_done(typed: str, reason: str | None) -> None:
    screen = StringIO()
    refused = pytest.raises(CannotAnswer, match=reason) if reason else nullcontext()

    with refused:
        terminal.ask(WISH, keys=StringIO(typed), screen=screen)

    shown = screen.getvalue()
    for text in ("Please redirect", "redirected", "Cut it.", '{"a": 1}'):
        assert text in shown


@pytest.mark.skipif(sys.platform != "linux", reason="a session gets its terminal by opening one")
def test_the_terminal_is_asked_and_not_standard_input() -> None:
    ours, theirs = os.openpty()
    driver = subprocess.Popen(
        [sys.executable, "-c", WITH_TERMINAL, os.ttyname(theirs)],
        env=VARIABLES,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    look = {"wish": "look", "delivery_id": WISH["delivery_id"], "markup": "<b>"}
    os.write(ours, b"\nno\n")

    answers, _ = driver.communicate(f"{json.dumps(WISH)}\n{json.dumps(look)}\n", timeout=60)
    os.close(theirs)
    os.close(ours)

    assert [json.loads(line) for line in answers.splitlines()] == [
        {"done": True},
        {"done": True, "is_text": False},
    ]


@pytest.fixture
def inbox(live_server: LiveServer, alice: User) -> Iterator[Callable[..., Inbox]]:
    with ExitStack() as opened:

        def make(password: str = PASSWORD) -> Inbox:
            person = Inbox(live_server.url, alice.email, password)
            opened.callback(person.close)
            return person

        yield make


def _wish(delivery_id: str, **more: Any) -> dict[str, Any]:
    return {"delivery_id": delivery_id, "status": "approved", **more}


def test_the_inbox_takes_the_first_answer_only(
    inbox: Callable[..., Inbox], caller: AgentClient
) -> None:
    delivery_id = caller.deliver(details={"a": 1})
    person = inbox()

    person.answer(_wish(delivery_id, status="redirected", feedback="So.", edited_content={"a": 2}))
    with pytest.raises(CannotAnswer):
        person.answer(_wish(delivery_id))

    response = Delivery.objects.get(pk=delivery_id).response
    assert (response.status, response.feedback) == ("redirected", "So.")
    assert json.loads(response.edited_json or "") == {"a": 2}


def test_the_inbox_shows_markup_as_text(inbox: Callable[..., Inbox], caller: AgentClient) -> None:
    markup = "<img src=x onerror=alert(1)>"
    delivery_id = caller.deliver(headline=markup)

    assert inbox().look({"delivery_id": delivery_id, "markup": markup})
    assert not inbox().look({"delivery_id": delivery_id, "markup": "another text"})


def test_a_wrong_password_is_a_reason(inbox: Callable[..., Inbox], caller: AgentClient) -> None:
    with pytest.raises(CannotAnswer, match="WAKE_CHECK_PASSWORD"):
        inbox("wrong").answer(_wish(caller.deliver()))


def test_a_delivery_of_another_team_is_a_reason(inbox: Callable[..., Inbox]) -> None:
    with pytest.raises(CannotAnswer, match="answers with 404"):
        inbox().answer(_wish(str(WISH["delivery_id"])))


def test_the_driver_gets_no_key(tmp_path: Path) -> None:
    """The kit passes its environment on, without keys and secrets."""
    out = tmp_path / "environment"
    secret = {"WAKE_API_KEY": "wk_live_x", "WAKE_WEBHOOK_SECRET": "whsec_x"}
    people = people_of(["sh", "-c", f"env > {out}"], "http://127.0.0.1:9", {**VARIABLES, **secret})
    people.close()

    environment = out.read_text()
    assert "WAKE_CHECK_URL=http://127.0.0.1:9" in environment
    assert "wk_live_x" not in environment
    assert "whsec_x" not in environment
