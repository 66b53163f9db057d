"""The drill of docs/operations.md works: back up, destroy, restore and verify, and the callbacks go
on.

The commands are the document's own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.documents.blocks import documented
from tests.stress.faults.ledger import Ledger
from tests.stress.faults.parts import Parts
from tests.stress.faults.servers import BINARIES
from tests.stress.faults.site import AgentAt, PersonAt
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import HOME, World, eventually

pytestmark = pytest.mark.system


def steps_of(drill: str) -> dict[str, str]:
    """Returns the commands of a drill, grouped by the comment above them."""
    steps = re.findall(r"^# (.+)\n((?:[^#\n].*\n)+)", drill, re.MULTILINE)
    return {title: commands.replace(".venv/bin/python", "python") for title, commands in steps}


def do(commands: str, *, folder: Path, user: str | None = None, **environment: str) -> str:
    """Runs the commands with the programs of this virtual environment and of PostgreSQL, and
    returns what they printed. `user` is an account of this machine."""
    places = [str(Path(sys.executable).parent), *map(str, reversed(BINARIES)), os.environ["PATH"]]
    done = subprocess.run(
        ["/bin/sh", "-euc", commands.replace("manage.py", str(HOME / "manage.py"))],
        cwd=folder,
        user=user,
        env={**environment, "PATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_on_postgresql(
    parts: Parts, ledger: Ledger, agent_at: AgentAt, alice_at: PersonAt, tmp_path: Path
) -> None:
    receiver = ledger.receivers[0]
    for number in range(4):
        pk = agent_at.deliver(once=f"kept {number}", callback=receiver.url)
        ledger.record_delivery(f"kept {number}", pk, has_callback=True)
    parts.site.stop()  # from here on, no callback is sent
    for pk in list(ledger.acknowledged.values())[:2]:
        assert alice_at.answer(pk).status_code == 303
        ledger.record_answer(pk, "approved")
    steps = steps_of(documented("docs/operations.md", "DROP DATABASE"))
    environment = {
        **parts.site.env,
        "SERVER_URL": parts.postgres.url,
        "NAME": urlsplit(parts.site.database_url).path[1:],
    }

    do(steps["back up"], folder=tmp_path, **environment)
    assert receiver.received == []
    do(steps["destroy"], folder=tmp_path, **environment)
    assert agent_at.get(pk).status_code == 503
    do(steps["restore"], folder=tmp_path, **environment)
    verified = do(steps["verify"], folder=tmp_path, **environment)
    parts.site.start_worker()
    parts.site.start_beat()

    assert "unbroken" in verified or "it has no entries yet" in verified
    assert eventually(lambda: not ledger.missing, seconds=60), parts.site.logs
    ledger.judge(agent_at)


@pytest.mark.once  # the test brings its own SQLite
def test_on_sqlite(tmp_path: Path, receiver: Receiver) -> None:
    data = tmp_path / "data"
    world = World(data, server="", hold_seconds=0)
    world.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    answered = world.run(f"result = [answered({receiver.url!r}) for _ in range(3)]")
    steps = steps_of(documented("docs/operations.md", "rm data/wake.sqlite3*"))

    do(steps["back up"], folder=tmp_path, **world.env)
    world.end()
    do(steps["destroy"], folder=tmp_path, **world.env)
    assert not list(data.glob("wake.sqlite3*"))
    do(steps["restore"], folder=tmp_path, **world.env)
    verified = do(steps["verify"], folder=tmp_path, **world.env)
    do(SEND, folder=tmp_path, **world.env)

    assert "ok" in verified
    assert "unbroken" in verified or "it has no entries yet" in verified
    assert sorted(request.json["delivery_id"] for request in receiver.received) == sorted(answered)


SEND = 'python manage.py shell --command "from wake.callbacks.sending import send_due; send_due()"'
