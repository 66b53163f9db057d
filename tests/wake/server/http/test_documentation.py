"""The server has the documentation at /docs/ when it was built, and is not there otherwise."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.strict_client import Client

pytestmark = pytest.mark.once


@pytest.fixture
def built(tmp_path: Path, settings: Any) -> Path:
    for name in ("index.html", "teams/index.html", "assets/app.0a1b2c3d.min.js", "site.css"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    settings.WAKE_DOCUMENTATION = tmp_path
    return tmp_path


def test_pages_are_served_with_a_policy_and_asked_for_again(built: Path) -> None:
    with closing(Client().get("/docs/teams/")) as page:
        assert page.getvalue() == b"teams/index.html"

    assert page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.headers["X-Frame-Options"] == "DENY"
    policy = page.headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "form-action 'none'"} <= set(policy)
    assert not [part for part in policy if "trusted-types" in part or "unsafe" in part]
    assert page.headers["X-Content-Type-Options"] == "nosniff"


def test_a_page_that_has_not_changed_is_not_sent_again(built: Path) -> None:
    first = Client().head("/docs/")

    again = Client().get("/docs/", headers={"If-None-Match": first.headers["ETag"]})

    assert again.status_code == 304


def test_files_named_for_their_content_are_kept_and_others_are_not(built: Path) -> None:
    named = Client().head("/docs/assets/app.0a1b2c3d.min.js").headers
    sheet = Client().head("/docs/site.css").headers

    assert named["Cache-Control"] == "public, max-age=31536000, immutable"
    assert named["Content-Type"].startswith("text/javascript")
    assert sheet["Cache-Control"] == "no-cache"


def test_an_address_without_its_slash_leads_to_the_page(built: Path) -> None:
    answer = Client().get("/docs/teams")

    assert (answer.status_code, answer.headers["Location"]) == (302, "teams/")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/docs/nothing/", "/docs/../manage.py", "/docs/teams/../../x"])
def test_other_paths_are_the_usual_404(built: Path, path: str) -> None:
    answer = Client().get(path)

    assert answer.status_code == 404
    assert b"Page not found" in answer.content


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/docs/", "/docs", "/docs/teams/"])
def test_without_a_build_there_is_no_documentation(path: str) -> None:
    answer = Client().get(path, follow=True)

    assert answer.status_code == 404
    assert b"Page not found" in answer.content


def test_static_files_keep_their_own_headers(built: Path) -> None:
    headers = Client().head("/static/css/app.css").headers

    assert "Content-Security-Policy" not in headers
