"""Provides two servers, and a team of the first that has a row in each table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db import connection

from accounts.models import Team, User
from tests.wake.cells.full_team import FullTeam, fill
from tests.wake.cells.servers import Server, another_database

A, B = "https://a.example.com", "https://b.example.com"


class Servers(NamedTuple):
    a: Server
    b: Server
    folder: Path
    key: Path

    def move(self, slug: str, source: Server, target: Server, name: str = "folder") -> None:
        """Takes all four steps."""
        folder, key = self.folder / name, self.folder / f"{name}.key"
        source.run("pack", slug, folder, "--to", target.origin, "--key", key, "--wait", 0)
        target.run("unpack", folder, "--key", key, "--same-people")
        source.run("leave", folder, "--key", key)
        target.run("open", folder, "--key", key)


@pytest.fixture
def servers(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[Servers]:
    settings.WAKE_ENCRYPT_CONTENT = True
    own = str(connection.settings_dict["NAME"])
    with another_database(settings, tmp_path) as other:
        a = Server(own, A, "a" * 40, settings)
        b = Server(other, B, "b" * 40, settings)
        yield Servers(a, b, tmp_path, tmp_path / "key")


@pytest.fixture
def full(servers: Servers, team: Team, alice: User, bob: User, rita: User) -> FullTeam:
    with servers.a.here():
        return fill(team, people=[alice, bob], words="ourplan")
