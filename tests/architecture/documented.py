"""Reads and writes the parts of docs/architecture.md that the code generates."""

from __future__ import annotations

from tests.architecture.sources import ROOT

DOCUMENT = ROOT / "docs/architecture.md"


def read(title: str) -> str:
    """Returns the part between the marks `<!-- title: begin -->` and `<!-- title: end -->`."""
    _, part, _ = _split(title)
    return part.strip("\n")


def write(title: str, text: str) -> None:
    before, _, after = _split(title)
    DOCUMENT.write_text(f"{before}\n{text}\n{after}")


def _split(title: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {title}: begin -->", f"<!-- {title}: end -->"
    before, _, rest = DOCUMENT.read_text().partition(begin)
    part, _, after = rest.partition(end)
    assert rest, f"{DOCUMENT.name} has no {begin}"
    return f"{before}{begin}", part, f"{end}{after}"
