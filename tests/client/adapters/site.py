"""Provides a server, and a person who answers agents on its pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.client.adapters.processes import Agent
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.inbox.person import Person
from wake.models import Delivery

Kind = TypeVar("Kind", bound=Agent)


@dataclass(frozen=True)
class Site:
    """`caller` has the key of the agents, and `folder` has their folders."""

    origin: str
    caller: AgentClient
    person: Person
    folder: Path

    def agent(self, kind: type[Kind], command: list[str], name: str) -> Kind:
        return kind(command, self.origin, self.caller, self.folder / name)

    def answer(self, delivery: Delivery, status: str = "approved", **fields: Any) -> None:
        """Answers with the form of the delivery's page."""
        assert self.person.see(delivery).status_code == 200
        assert self.person.answer(delivery, status, **fields).status_code == 303


@pytest.fixture
def site(caller: AgentClient, alices: Person, tmp_path: Path, settings: Any) -> Iterator[Site]:
    settings.WAKE_HOLD_SECONDS = 0
    with served("asgi") as origin:
        yield Site(origin, caller, alices, tmp_path)
