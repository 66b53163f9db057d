"""The question about a file says where the file is, even if its name suggests another place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wake_client.hook.calls import CLAUDE_CODE, PERMISSION, Call
from wake_client.hook.questions import question


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "shop"
    folder.mkdir()
    return folder


def headline_and_where(project: Path, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    asked = question(Call(CLAUDE_CODE, PERMISSION, "s", str(project), tool, arguments))
    return asked.headline, asked.details["blocks"][-1]["items"]


@pytest.mark.parametrize("path", ["/etc/hosts", "../hosts", "a/../../hosts"])
def test_the_question_says_that_a_file_is_outside_the_folder(project: Path, path: str) -> None:
    """The headline used to say "Write `hosts` in shop?"."""
    headline, _ = headline_and_where(project, "Write", file_path=path, content="")

    assert headline == "Write `hosts` outside shop?"


def test_a_link_names_the_file_that_it_leads_to(project: Path) -> None:
    (project / "notes.md").symlink_to("/etc/hosts")

    headline, where = headline_and_where(
        project, "Edit", file_path=str(project / "notes.md"), old_string="a", new_string="b"
    )

    assert headline == "Edit `notes.md` outside shop?"
    assert where["file"] == "/etc/hosts"


@pytest.mark.parametrize(
    ("tool", "member", "headline"),
    [
        ("Write", "file_path", "Write `a.py` in shop?"),
        ("Read", "file_path", "Read `a.py` in shop?"),
        ("NotebookEdit", "notebook_path", "Edit `a.py` in shop?"),
    ],
)
def test_the_question_says_where_a_file_in_the_folder_is(
    project: Path, tool: str, member: str, headline: str
) -> None:
    asked, where = headline_and_where(project, tool, **{member: str(project / "src" / "a.py")})

    assert asked == headline
    assert "file" not in where
