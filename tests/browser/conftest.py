"""Opens a real Chromium on a real server. Without one the tests are skipped, but never in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from playwright.sync_api import Browser, sync_playwright

from accounts.models import ApiKey, User
from tests.browser.screen import Open, Screen
from tests.browser.world import World, build
from tests.types import Answer, MakeDelivery

# This build of the same engine has no windows and needs a third less CPU time.
HEADLESS = shutil.which("chromium-headless-shell")
CHROMIUM = Path(os.environ.get("WAKE_CHROMIUM") or HEADLESS or "/usr/bin/chromium")
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}

# These tests run on every database: the stories compare what people do with the rows in the
# database, and test_buttons.py needs a database that is a file. The other tests only look at pages,
# and tests without a browser open the same pages on every database.
ON_EVERY_DATABASE = {"test_story.py", "test_team_story.py", "test_buttons.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.slow)
            if item.path.name not in ON_EVERY_DATABASE:
                item.add_marker(pytest.mark.once)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Starts Chromium once for the tests of this folder that a worker runs in a row. Chromium ends
    before other tests begin, because Playwright's event loop runs in this thread. Other tests may
    need an event loop of their own, and Django refuses database queries while an event loop runs in
    the thread."""
    if not CHROMIUM.exists():
        missing = (
            f"No Chromium at {CHROMIUM}: apt-get install chromium-headless-shell or chromium,"
            " or set WAKE_CHROMIUM."
        )
        pytest.fail(missing) if IN_CI else pytest.skip(missing)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_browser(chromium: Browser, transactional_db: None, live_server: Any) -> Iterator[Open]:
    """Opens a new window for each call. An error in a window fails the test at its end."""
    screens: list[Screen] = []

    def open_one(user: User | None = None, **options: Any) -> Screen:
        screen = Screen(chromium, live_server.url, user, **options)
        screens.append(screen)
        return screen

    yield open_one
    for screen in screens:
        screen.close()
    for screen in screens:
        assert screen.complaints == []
        assert screen.left_the_origin == []


@pytest.fixture
def collected(tmp_path: Path, settings: Any) -> Path:
    """Collects static files for a server of its own, joined and compressed as in production."""
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "wake.server.static_files.JoinedStaticFiles"},
    }
    others = ["admin", "drf_spectacular_sidecar", "rest_framework"]
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=others)
    return tmp_path


@pytest.fixture
def world(
    make_delivery: MakeDelivery,
    answer: Answer,
    allowed_host: str,
    key: ApiKey,
    alice: User,
    bob: User,
) -> World:
    return build(make_delivery, answer, key=key, alice=alice, bob=bob)
