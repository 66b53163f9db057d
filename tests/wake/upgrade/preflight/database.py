"""Runs commands on a database of its own, and reads what `preflight` reports."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.wake.server.up import ROOT, clean_environment


@dataclass
class Database:
    """A database, and a role of deploy/roles.sql for the servers."""

    url: str
    role: str
    folder: Path

    @property
    def url_of_servers(self) -> str:
        place = urlsplit(self.url)
        netloc = f"{self.role}:secret@{place.hostname}:{place.port or 5432}"
        return place._replace(netloc=netloc).geturl()

    def manage(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        ours = {"WAKE_DEV": "1", "WAKE_DATA": str(self.folder), "DATABASE_URL": self.url}
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=clean_environment(**ours | variables),
            capture_output=True,
            text=True,
            check=False,
        )

    def preflight(self, *words: str, **variables: str) -> Report:
        done = self.manage("preflight", "--json", *words, **variables)
        assert done.stdout, done.stderr
        return Report(done.returncode, json.loads(done.stdout))


@dataclass
class Report:
    code: int
    json: dict[str, Any]

    def of(self, part: str, *levels: str) -> list[str]:
        """Returns the texts about this part that have one of the levels."""
        return [
            each["text"]
            for each in self.json["findings"]
            if each["part"] == part and each["level"] in levels
        ]

    def migration(self, name: str) -> dict[str, Any]:
        return next(each for each in self.json["migrations"] if each["name"].startswith(name))
