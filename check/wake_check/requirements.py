"""Reads the requirement sets. A published set is frozen: a change is a new revision."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

REVISIONS = ("2026-11",)
LEVELS = ("must", "should", "hardening", "extension")


@dataclass(frozen=True)
class Requirement:
    """One sentence that a server keeps or breaks.

    `extension` is the name that a server declares, for the level `extension`. `party` is `agent`
    for the sentences of the specification that bind agents. `disputed` is the objection of someone
    who reads the sentence differently, or empty."""

    id: str
    level: str
    source: str
    section: str
    sentence: str
    extension: str = ""
    party: str = "server"
    disputed: str = ""


def load(revision: str = REVISIONS[-1]) -> list[Requirement]:
    """Returns the requirements of the revision, in the order of the report."""
    text = (
        resources.files("wake_check").joinpath("revisions", f"{revision}.toml").read_text("utf-8")
    )
    return [Requirement(**row) for row in tomllib.loads(text)["requirement"]]
