"""Provides a server that a test starts, kills and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wake.server.up import Up, up_in


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    with up_in(tmp_path / "data") as server:
        yield server
