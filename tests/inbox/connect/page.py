"""The people in front of an agent's connect page, and a program that was copied from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import Agent, ApiKey, User
from tests.inbox.people import Person

CLIENT = Path(__file__).parent.parent.parent / "client"


@pytest.fixture
def alices(alice: User) -> Person:
    return Person(alice)


class Page:
    """What an agent's connect page offers, on a server that listens; programs run in a folder of
    their own, with the key in their environment and nothing else that they could lean on."""

    def __init__(self, person: Person, agent: Agent, key: str, folder: Path) -> None:
        answer = person.get(f"/agents/{agent.pk}/connect/")
        self.texts = {snippet.name: snippet.text for snippet in answer.context["snippets"]}
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(CLIENT),
            "WAKE_API_KEY": key,
        }

    def save(self, name: str, as_file: str) -> str:
        path = self.folder / as_file
        path.write_text(self.texts[name], encoding="utf-8")
        return str(path)

    def start(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, **environment: str) -> str:
        """What it prints."""
        return finished(self.start(*command, **environment))

    def shell(self, script: str, **environment: str) -> list[Any]:
        """The JSON texts that a script prints, one after the other."""
        return json_texts(self.run("bash", "-euc", script, **environment))


def finished(process: subprocess.Popen[str]) -> str:
    printed, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    return printed


def json_texts(printed: str) -> list[Any]:
    found, rest = [], printed.strip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        found.append(value)
        rest = rest[end:].strip()
    return found


@pytest.fixture
def copied(
    live_server: LiveServer, alices: Person, key: ApiKey, tmp_path: Path, settings: Any
) -> Callable[[], Page]:
    """The page as it is now, for the agent as it is called now."""
    settings.WAKE_ORIGIN = live_server.url

    def copy() -> Page:
        text: str = key.text  # type: ignore[attr-defined]
        return Page(alices, Agent.objects.get(), text, tmp_path)

    return copy


@pytest.fixture
def python() -> str:
    return sys.executable
