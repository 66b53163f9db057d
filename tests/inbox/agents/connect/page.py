"""Reads the connect page of an agent and runs programs copied from it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accounts.models import Agent
from tests.inbox.person import Person
from tests.wake.server.up import eventually
from wake.models import Delivery

CLIENT = Path(__file__).parents[4] / "client"


class Page:
    """Holds what an agent's connect page offers, on a server that listens. Programs run in a folder
    of their own. The environment of a program has the key, and nothing else that could help the
    program."""

    def __init__(self, person: Person, agent: Agent, key: str, folder: Path) -> None:
        answer = person.get(f"/agents/{agent.pk}/connect/")
        self.texts = {snippet.name: snippet.text for snippet in answer.context["snippets"]}
        self.hints = {snippet.name: snippet.hint for snippet in answer.context["snippets"]}
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
        """Runs the program and returns its output."""
        return finished(self.start(*command, **environment))

    def shell(self, script: str, **environment: str) -> list[Any]:
        """Returns the JSON values that a script prints."""
        return json_texts(self.run("bash", "-euc", script, **environment))


Copied = Callable[[], Page]


def finished(process: subprocess.Popen[str]) -> str:
    printed, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    return printed


def json_texts(printed: str) -> list[Any]:
    values, rest = [], printed.strip()
    while rest:
        value, end = json.JSONDecoder().raw_decode(rest)
        values.append(value)
        rest = rest[end:].strip()
    return values


def delivered() -> Delivery:
    delivery: Delivery = eventually(Delivery.objects.first)
    return delivery
