"""Starts a server for the commands of the documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.terminal import Terminal
from tests.stress.faults.site import PersonAt
from tests.wake.server.up import Up, printed, up_in


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with up_in(tmp_path_factory.mktemp("server") / "data", WAKE_HOLD_SECONDS="0") as up:
        up.start().once_greeted()
        yield up


@pytest.fixture(scope="module")
def person(up: Up) -> Iterator[PersonAt]:
    person = PersonAt(up.url, printed("Sign in", up.output), printed("Password", up.output))
    yield person
    person.client.close()


@pytest.fixture
def terminal(up: Up, tmp_path: Path) -> Terminal:
    return Terminal(up, tmp_path)
