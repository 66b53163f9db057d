"""The adapters refuse what a framework would run without an approval, and say what they cannot
do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.client.adapters.processes import OTHER, REFUND, Agent, told
from tests.client.adapters.site import Site, site
from tests.client.connector.relay import CLIENT
from tests.fixtures import peers
from wake.models import Claim, Delivery, Outcome

__all__ = ["site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.peers]
PEERS = Path(__file__).parent / "peers"
OPENAI, CLAUDE = PEERS / "openai-agents", PEERS / "claude-agent"
Start = Callable[[list[str], str], Agent]
# Each entry of allowed_tools, and whether it covers Bash or mcp__shop__refund.
ENTRIES = {
    "Bash": True,
    "Bash(ls:*)": True,
    "mcp__shop": True,
    "mcp__shop__refund": True,
    "mcp__*": True,
    "Read": False,
    "mcp__shop__search": False,
}


@pytest.fixture
def start(site: Site) -> Start:
    return partial(site.agent, Agent)


def test_options_of_claude_that_allow_calls_without_a_person_are_refused() -> None:
    command = [*peers.command(CLAUDE, "refusals"), json.dumps([*ENTRIES])]

    done = subprocess.run(
        command, env={"PYTHONPATH": str(CLIENT)}, capture_output=True, text=True, check=True
    )

    said = json.loads(done.stdout)
    assert [words is not None for words in said] == [*ENTRIES.values(), *[True] * 4, False]
    assert (
        said[1] == "'Bash(ls:*)' would allow Bash without a person. Remove it from allowed_tools."
    )


def test_calls_of_claude_at_the_same_time_are_asked_about_one_after_the_other(
    start: Start, answer: Callable[..., Any]
) -> None:
    agent = start(peers.command(CLAUDE), "several")
    agent.calls = [REFUND, OTHER]
    agent.run("start")
    delivery = Delivery.objects.get()
    answer(delivery)

    words = told(agent.run("resume"))

    assert delivery.details["proposal"] == REFUND
    assert sorted(words)[1] == "Refunded 18000."
    assert "one call at a time" in sorted(words)[0]
    assert agent.refunds == [REFUND]
    assert Delivery.objects.count() == 1


def test_a_tool_of_openai_that_would_run_twice_is_refused(start: Start) -> None:
    agent = start(peers.command(OPENAI, "limits"), "plain")

    assert "not made by approved_tool()" in agent.fails("start", "plain")

    assert not Delivery.objects.exists()


def test_people_read_the_arguments_for_openai_that_are_no_object(start: Start) -> None:
    start(peers.command(OPENAI, "limits"), "text").run("start", "text")

    proposal = Delivery.objects.get().details["proposal"]

    assert proposal == {"the text that the model wrote": '["A-1042"]'}


def test_a_tool_of_openai_that_fails_got_what_people_read(
    start: Start, answer: Callable[..., Any]
) -> None:
    agent = start(peers.command(OPENAI, "limits"), "fails")
    agent.run("start", "fails")
    delivery = Delivery.objects.get()
    assert delivery.details["proposal"] == {"order": "B-7", "cents": 1}
    answer(delivery)

    words = told(agent.run("resume", "fails"))

    assert words == ["An error occurred while running the tool. Please try again."]
    assert Outcome.objects.get().summary == "OSError: The bank does not know B-7."
    assert Claim.objects.count() == 1
