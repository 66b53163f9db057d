"""The examples of docs/gates.md work with a real server."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
from collections.abc import Callable

import pytest
import yaml
from django.core.management import CommandError, call_command

from accounts.models import Agent, Gate
from tests.documents.blocks import documented
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.models import Claim, Response


def step_of_the_job() -> str:
    (job,) = yaml.safe_load(documented("docs/gates.md", "workflow_dispatch:"))["jobs"].values()
    return str(job["steps"][0]["run"])


def issued(*words: str) -> str:
    out = io.StringIO()
    call_command("issue_gate", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue().strip()


@pytest.mark.system
@pytest.mark.django_db(transaction=True)
def test_the_scripts_act_once(
    caller: AgentClient, answer: Callable[..., Response], subtests: pytest.Subtests
) -> None:
    gate = issued("Refunds", "--agent", caller.agent_id)
    scripts = {
        "shell": documented("docs/gates.md", 'echo "refunded"'),
        "job": f"set -e\n{step_of_the_job()}",
    }
    with served("asgi") as origin:
        for name, script in scripts.items():
            with subtests.test(name):
                receipt = caller.post(caller.payload(type="question", digest=True)).json()
                variables = {
                    "WAKE_ENDPOINT": origin,
                    "WAKE_GATE_KEY": gate,
                    "DELIVERY_ID": receipt["delivery_id"],
                    "DIGEST": receipt["digest"],
                }

                def run(script: str = script, env: dict[str, str] = variables) -> int:
                    finished = subprocess.run(
                        ["bash", "-c", script],  # noqa: S607 - where the system has it
                        env={"PATH": os.environ["PATH"], **env},
                        capture_output=True,
                        check=False,
                    )
                    return finished.returncode

                assert run() != 0
                answer(receipt["delivery_id"])
                assert run() == 0
                assert run() != 0
    assert Claim.objects.filter(gate_name="Refunds").count() == 2


@pytest.mark.django_db
def test_the_command_issues_a_key_for_agents_of_the_team(agent: Agent) -> None:
    line = documented("docs/gates.md", "manage.py issue_gate").partition(" issue_gate ")[2]
    names = {"support-agent": agent.agent_id, "acme": agent.team.slug}
    text = issued(*(names.get(word, word) for word in shlex.split(line)))

    gate = Gate.objects.get()
    assert text.startswith("wk_gate_")
    assert (gate.name, list(gate.agents.all())) == ("Refunds", [agent])
    for words in (
        ("Refunds", "--agent", "no-such-agent"),
        ("Refunds", "--agent", agent.agent_id, "--team", "no-team"),
        ("x" * 81, "--agent", agent.agent_id),
    ):
        with pytest.raises(CommandError):
            issued(*words)
    assert Gate.objects.count() == 1
