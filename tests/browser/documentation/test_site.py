"""The documentation site is built from the documents, without a broken link, and works under the
server's content policy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, Page, expect

from tests.browser.screen import ALL_OF_IT, AXE, COLOURS, Screen
from tests.fixtures import peers
from tests.fixtures.served import served
from tests.wake.server.up import ROOT

pytestmark = [pytest.mark.system, pytest.mark.django_db(transaction=True)]

SITE = ROOT / "docs" / "site"

# The theme's script makes a scrolling block of code focusable some frames after a resize. This
# waits for that, at most some seconds. Axe then finds the blocks that are not.
WHEN_SCROLLING_CODE_IS_FOCUSABLE = """() => new Promise((done) => {
    const focusable = (code) => code.scrollWidth <= code.clientWidth || code.tabIndex >= 0;
    const look = (frames) => {
        const all = [...document.querySelectorAll("pre code")].every(focusable);
        all || !frames ? done() : requestAnimationFrame(() => look(frames - 1));
    };
    look(300);
})"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the site as `make docs` does. A broken link fails the build."""
    folder = tmp_path_factory.mktemp("documentation")
    openapi, target = folder / "openapi.json", folder / "built-docs"
    call_command("spectacular", format="openapi-json", file=str(openapi))
    command = [*peers.command(SITE, "build"), str(openapi), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


@pytest.fixture
def origin(transactional_db: None, built: Path) -> Iterator[str]:
    with served("wsgi", WAKE_TEST_DOCUMENTATION=str(built)) as origin:
        yield origin


@pytest.fixture
def screen(chromium: Browser, origin: str, request: pytest.FixtureRequest) -> Iterator[Screen]:
    """Opens a window. A violation of the content policy, an error of a script and a request to
    another host fail the test."""
    screen = Screen(chromium, origin, **getattr(request, "param", {}))
    yield screen
    screen.close()
    assert screen.complaints == []
    assert screen.left_the_origin == []


def test_the_server_has_every_page(origin: str, built: Path) -> None:
    pages = [f"/docs/{page.parent.relative_to(built)}/" for page in built.rglob("index.html")]
    assert len(pages) > 80

    with httpx.Client(base_url=origin) as client:
        assert client.get("/docs").headers["Location"] == "docs/"
        for page in [path.replace("/./", "/") for path in pages]:
            answer = client.get(page)
            assert answer.status_code == 200, page
            assert answer.headers["Content-Type"].startswith("text/html")
            assert "<h1" in answer.text
        assert client.get("/docs/nothing/").status_code == 404
        index = client.get("/docs/search.json", headers={"Accept-Encoding": "br"})
        assert index.headers["Content-Encoding"] == "br"


def test_no_page_has_a_script_or_a_style_of_its_own(built: Path) -> None:
    for page in built.rglob("*.html"):
        text = page.read_text()
        assert "<script>" not in text, page
        assert "<style" not in text, page
        assert ' style="' not in text, page


def test_the_quickstart_begins_with_each_adapter(built: Path) -> None:
    page = (built / "quickstart" / "index.html").read_text()
    adapters = [one for one in (ROOT / "docs/adapters").glob("*.md") if one.name != "README.md"]
    titles = [one.read_text().partition("\n")[0].removeprefix("# ") for one in adapters]

    assert len(titles) > 5
    for title in titles:
        assert re.search(rf"<label for=\"__tabbed_1_\d+\">{title}</label>", page), title
    headings = re.findall(r"<h2 id=\"([\w-]+)\"", page)
    assert headings == ["start-the-server", "ask-your-first-question", "answer-it"]


def test_every_fence_is_a_block_of_code(built: Path) -> None:
    written = [page for page in built.rglob("*.html") if "```" in page.read_text()]

    assert [page.parent.name for page in written] == []


def test_the_reference_has_every_endpoint_and_schema(built: Path) -> None:
    text = (built / "api" / "index.html").read_text()

    for endpoint in ("POST /wake/v1/deliver", "GET /wake/v1/responses"):
        assert f"<code>{endpoint}</code>" in text
    assert 'href="#deliverypayload"' in text
    assert 'id="deliverypayload"' in text


def test_a_person_finds_a_page_by_search(screen: Screen) -> None:
    screen.page.goto("/docs/")

    screen.page.get_by_role("button", name="Search").first.click()
    screen.page.get_by_role("combobox", name="Search").fill("idempotency")
    screen.page.get_by_role("option").first.click()

    expect(screen.page).not_to_have_url(f"{screen.origin}/docs/")
    expect(screen.page.locator("article")).to_contain_text("dempotency")


@pytest.mark.parametrize("screen", [{"scheme": "dark"}], indirect=True)
def test_the_site_is_dark_for_a_person_whose_system_is(screen: Screen) -> None:
    page = screen.page
    page.goto("/docs/operations/")
    assert _background(page) == "rgb(21, 23, 26)"

    page.get_by_title("Switch to light mode").click()

    assert _background(page) == "rgb(251, 250, 247)"
    page.goto("/docs/teams/")
    assert _background(page) == "rgb(251, 250, 247)"


def test_the_quickstart_has_a_tab_for_each_way(screen: Screen) -> None:
    page = screen.page
    page.goto("/docs/quickstart/")
    expect(page.get_by_text("claude mcp add")).to_be_hidden()

    page.locator(".tabbed-labels").get_by_text("MCP", exact=True).click()

    expect(page.get_by_text("claude mcp add")).to_be_visible()


def test_every_page_is_accessible_and_fits_on_a_phone(screen: Screen, built: Path) -> None:
    pages = [page.parent.relative_to(built) for page in sorted(built.rglob("index.html"))]
    # The decisions have the same parts, so one of them stands for all.
    looked_at = [page for page in pages if page.parent.name != "decisions" or "0081" in page.name]
    assert len(looked_at) > 20

    found = {str(page): problems for page in looked_at if (problems := _problems(screen, page))}

    assert found == {}


def _problems(screen: Screen, path: Path) -> list[Any]:
    page, found = screen.page, []
    for scheme, rules in (("light", ALL_OF_IT), ("dark", COLOURS)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(f"/docs/{path}/" if path.name else "/docs/")
        page.evaluate(AXE)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            page.evaluate(WHEN_SCROLLING_CODE_IS_FOCUSABLE)
            found += [f"{width} {scheme}, {problem}" for problem in screen.violations(rules)]
            if page.evaluate("scrollX + document.documentElement.scrollWidth > innerWidth"):
                found.append(f"{width}: wider than the window")
    return found


def _background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
