"""Wake can be installed, and the device keeps nothing that differs between people."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.staticfiles import finders

from tests.inbox.person import Person, text_of


def test_the_manifest_names_a_start_page_and_icons_that_exist(client: Any, db: None) -> None:
    answer = client.get("/manifest.webmanifest")

    manifest = answer.json()
    assert answer["Content-Type"] == "application/manifest+json"
    assert manifest["start_url"] == "/"
    assert {icon["sizes"] for icon in manifest["icons"]} == {"any", "192x192", "512x512"}
    for icon in manifest["icons"]:
        assert finders.find(icon["src"].removeprefix("/static/"))


def test_the_offline_page_shows_no_personal_data(client: Any, alices: Person) -> None:
    page = client.get("/offline/")

    assert "You're offline" in text_of(page)
    assert "alice" not in text_of(page)
    assert "csrfmiddlewaretoken" not in page.content.decode()


def test_the_service_worker_keeps_one_page_and_its_files(client: Any, db: None) -> None:
    answer = client.get("/service-worker.js")

    script = answer.content.decode()
    files = re.search(r"const FILES = \[PAGE, (.*)\];", script)
    assert answer["Content-Type"].startswith("text/javascript")
    assert answer["Cache-Control"] == "no-cache"
    assert 'const PAGE = "/offline/";' in script
    assert files
    assert all(name.strip(' "').startswith("/static/") for name in files[1].split(","))


def test_pages_lead_to_the_manifest(client: Any, db: None) -> None:
    assert (
        '<link rel="manifest" href="/manifest.webmanifest">'
        in client.get("/login/").content.decode()
    )
