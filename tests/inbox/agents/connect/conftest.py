"""Provides an agent's connect page and programs that are copied from it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import Agent, ApiKey
from tests.inbox.agents.connect.page import Page
from tests.inbox.person import Person


@pytest.fixture
def copied(
    live_server: LiveServer, alices: Person, key: ApiKey, tmp_path: Path, settings: Any
) -> Callable[[], Page]:
    """Returns a function that opens the page as it is now."""
    settings.WAKE_ORIGIN = live_server.url

    def copy() -> Page:
        text: str = key.text  # type: ignore[attr-defined]
        return Page(alices, Agent.objects.get(), text, tmp_path)

    return copy


@pytest.fixture
def python() -> str:
    return sys.executable


@pytest.fixture
def node() -> str:
    program = shutil.which("node")
    if not program:
        pytest.skip("There is no node to run the program with.")
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True
    ).stdout
    if int(version.removeprefix("v").partition(".")[0]) < 18:
        pytest.skip(f"Its fetch came with node 18; this is {version}")
    return program
