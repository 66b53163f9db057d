"""Describes the parts of the server in words, for the page of operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Names a section of a document that says what to do."""

    title: str
    document: str = "operations"

    @property
    def file(self) -> str:
        return f"docs/{self.document}.md"

    @property
    def address(self) -> str:
        """Returns the address in the documentation of this server, or an empty text if the server
        has none."""
        if not Path(settings.WAKE_DOCUMENTATION).is_dir():
            return ""
        anchor = self.title.lower().replace(",", "").replace(" ", "-")
        return f"/docs/{self.document}/#{anchor}"


REPLICA = Paragraph("A replica for reading")
WORKERS = Paragraph("Web servers, workers, beat")
WRONG = Paragraph("When something is wrong")
BACKUPS = Paragraph("Back up and restore")
RECOVERY = Paragraph("Point-in-time recovery")
UPGRADE = Paragraph("Upgrade")
CHECKPOINTS = Paragraph("Checkpoints of the log")
LOG = Paragraph("The audit log")


@dataclass(frozen=True, slots=True)
class Concern:
    """Says what is not well, and what to do, in one or two sentences each."""

    text: str
    action: str
    paragraph: Paragraph


@dataclass(frozen=True, slots=True)
class Subject:
    """Describes one part of the server. `rows` is a table of names and words under `columns`."""

    id: str
    title: str
    sentences: list[str] = field(default_factory=list)
    problems: list[Concern] = field(default_factory=list)
    columns: tuple[str, str] | None = None
    rows: Mapping[str, str] = field(default_factory=dict)
