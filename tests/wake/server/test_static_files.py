"""Static files are collected and pages are compressed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings as project
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.fixtures.strict_client import Client
from wake.server.static_files import minified

SOURCES = Path(project.BASE_DIR) / "static"


@pytest.fixture
def collected(settings: Any, tmp_path: Path) -> Callable[[str], str]:
    """Returns a function that reads a file as it is served under the hash of its content."""
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "wake.server.static_files.JoinedStaticFiles"},
    }
    others = ["admin", "drf_spectacular_sidecar", "rest_framework"]
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=others)
    names = json.loads((tmp_path / "staticfiles.json").read_text())["paths"]
    return lambda name: (tmp_path / names[name]).read_text()


def test_style_sheets_are_bundled(collected: Callable[[str], str]) -> None:
    joined = {"app.css", "delivery-page.css", "outside-inbox.css"}
    addresses: set[str] = set()

    for name in joined:
        parts = re.findall(r'@import "([^"]+)"', (SOURCES / "css" / name).read_text())
        sheet = collected(f"css/{name}")
        assert "@import" not in sheet
        assert "/*" not in sheet
        for part in parts:
            assert minified((SOURCES / "css" / part).read_text()).strip() in sheet
        addresses |= set(parts)

    assert addresses == {path.name for path in (SOURCES / "css").glob("*.css")} - joined - {
        "admin.css"
    }


def test_minifying_removes_only_comments_and_whitespace() -> None:
    sheet = '/* Why. */\n.a, .b > c {\n  content: "; {  /* } " / "";\n  margin: 0 auto;\n}\n'

    assert minified(sheet) == '.a,.b > c{content:"; {  /* } " / "";margin:0 auto;}'


def test_scripts_are_served_without_comments(collected: Callable[[str], str]) -> None:
    for path in (SOURCES / "js").glob("*.js"):
        script = collected(f"js/{path.name}")
        assert not [line for line in script.splitlines() if line.startswith(("//", " "))]
        assert script.count("{") == path.read_text().count("{")


def test_a_module_is_loaded_by_its_content_hash(
    collected: Callable[[str], str], tmp_path: Path
) -> None:
    # The shortcuts load the palette only when a person presses the palette's keys. The module of
    # the updates loads the module of the stream.
    loaders = ("app", "keyboard-shortcuts", "updates")
    scripts = "".join(collected(f"js/{name}.js") for name in loaders)
    modules = re.findall(r'import\("\./([^"]+)"\)', scripts)

    written = {path.stem for path in (SOURCES / "js").glob("*.js")} - {"app"}
    assert {module.partition(".")[0] for module in modules} == written
    for module in modules:
        assert re.fullmatch(r"[a-z-]+\.[0-9a-f]{12}\.js", module)
        assert (tmp_path / "js" / module).exists()


@pytest.mark.parametrize(
    ("accepts", "taken"), [("gzip, deflate, br, zstd", "br"), ("gzip, br;q=0", "gzip")]
)
def test_pages_are_compressed_and_the_protocol_is_not(
    client: Client, alice: User, accepts: str, taken: str
) -> None:
    client.force_login(alice)
    accepted = {"Accept-Encoding": accepts}

    page = client.get("/help/keyboard-shortcuts", headers=accepted)
    protocol = client.get("/wake/v1/openapi.json", headers=accepted)

    assert page["Content-Encoding"] == taken
    assert int(page["Content-Length"]) == len(page.content)
    assert "Accept-Encoding" in page["Vary"]
    assert protocol.status_code == 200
    assert len(protocol.content) > 1_000
    assert "Content-Encoding" not in protocol


def test_an_answer_without_a_body_stays_empty(live_server: LiveServer, alice: User) -> None:
    """If bytes follow a 204, a browser closes the connection, or reads the bytes as the next
    answer."""
    browser = Client()
    browser.force_login(alice)
    cookie = browser.cookies[project.SESSION_COOKIE_NAME]
    headers = {"Accept-Encoding": "gzip, br", "Cookie": f"{cookie.key}={cookie.value}"}
    with closing(HTTPConnection(urlsplit(live_server.url).netloc, timeout=10)) as connection:
        for _ in range(2):
            connection.request("GET", f"/pulse?since={time.time_ns() // 1000}", headers=headers)
            answer = connection.getresponse()

            assert (answer.status, answer.getheader("Content-Encoding")) == (204, None)
            assert answer.read() == b""


@pytest.mark.parametrize("accepts", ["gzip", "br"])
def test_the_length_of_a_page_varies(client: Client, alice: User, accepts: str) -> None:
    client.force_login(alice)
    accepted = {"Accept-Encoding": accepts}

    lengths = {
        len(client.get("/help/keyboard-shortcuts", headers=accepted).content) for _ in range(10)
    }

    assert len(lengths) > 3
