"""The command of the package signs in by the browser, and both languages use what it stored."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from accounts.models import Agent, User
from tests.accounts.oauth.terminal import connect
from tests.client_js.projects import Project
from tests.documents.blocks import documented
from tests.fixtures.terminals import CODE, in_a_terminal, served_at_its_origin
from wake.models import Delivery

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system, pytest.mark.once]

PROGRAM = f"""
{documented("client-js/README.md", "await storedAccess()")}
await wake.deliver({{ type: "update", headline: "Tanks are full", summary: "All four." }});
"""


def test_a_person_signs_in_and_programs_use_the_key(
    project: Project, tmp_path: Path, alice: User, agent: Agent
) -> None:
    program = project.folder / "stored.mjs"
    program.write_text(PROGRAM)
    command = str(project.folder / "node_modules" / ".bin" / "wake-client")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    with served_at_its_origin() as origin:
        with in_a_terminal([command, "login", origin], home=tmp_path) as login:
            connect(alice, login.expect(CODE)[1], agent)
            login.expect(rf"{agent.agent_id} is logged in at {origin}")
            assert login.end() == 0
        subprocess.run(
            project.command(program.name),
            cwd=project.folder,
            env=environment,
            check=True,
            timeout=60,
        )
        subprocess.run(
            [sys.executable, "-m", "wake_client", "deliver", "update", "Again", "From Python."],
            env={**environment, "PYTHONPATH": "client"},
            check=True,
            timeout=60,
        )

    headlines = Delivery.objects.filter(agent=agent).values_list("headline", flat=True)
    assert set(headlines) == {"Tanks are full", "Again"}
