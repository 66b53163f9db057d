"""The short form of the soak in which one part after another is killed (`make soak` has the long
one)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.conf import settings

from tests.soak import in_turn
from tests.stress.faults.servers import NotHere
from tests.wake.server.run.pooler import program

pytestmark = [
    pytest.mark.once,
    pytest.mark.system,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL"),
]
SECONDS, AGENTS = 42, 4
PARTS = ("PgBouncer", "PostgreSQL", "worker and beat", "web server", "stream server", "replica")


@pytest.fixture(autouse=True)
def _installed() -> None:
    try:
        program()
    except NotHere as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))


def test_nothing_is_lost_while_each_part_is_killed_in_turn(tmp_path: Path) -> None:
    """The ledger judges inside."""
    table = "\n".join(in_turn.run(tmp_path, seconds=SECONDS, agents=AGENTS))

    for part in PARTS:
        assert f"\n{part} " in table
