"""Takes the pictures of the README and of docs/connect.md, for `make pictures`.

Starts Wake in an empty directory, fills the inbox with the demo, and opens the pages in Chromium.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
OWNER = {"username": "olga@example.com", "password": "only for these pictures"}
QUESTION = "Two pricing options are ready for your pick"
DESKTOP, PHONE = (1280, 800), (390, 800)
# A client that a person connects, and the address that it goes back to.
CLIENT, CALLBACK = "ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect"
SECONDS_TO_START = 120


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as data,
        _wake(Path(data)) as origin,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (size, colours, open_page) in PICTURES.items():
            _take(browser, origin, IMAGES / name, size, colours, open_page)
        browser.close()


@contextmanager
def _wake(data: Path) -> Iterator[str]:
    """Yields the origin of a running Wake that holds the demo."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    of_its_own = {
        "DATABASE_URL": "",
        "PORT": str(port),
        "REDIS_URL": "",
        "WAKE_ADMIN_EMAIL": OWNER["username"],
        "WAKE_ADMIN_PASSWORD": OWNER["password"],
        "WAKE_DATA": str(data),
        "WAKE_DEV": "1",
        "WAKE_ORIGIN": "",
    }
    environment = os.environ | of_its_own
    manage = [sys.executable, str(ROOT / "manage.py")]
    server = subprocess.Popen([*manage, "up"], env=environment, stdout=subprocess.DEVNULL)
    try:
        origin = f"http://127.0.0.1:{port}"
        _wait_for(f"{origin}/readyz")
        subprocess.run([*manage, "demo"], env=environment, check=True, stdout=subprocess.DEVNULL)
        yield origin
    finally:
        server.terminate()
        server.wait()


def _wait_for(url: str) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.5)
        else:
            return
    raise TimeoutError(f"Nothing answers at {url}.")


def _inbox(page: Page) -> None:
    """Stays in the inbox."""


def _delivery(page: Page) -> None:
    page.get_by_role("link", name=QUESTION).first.click()
    page.get_by_role("heading", name=QUESTION).wait_for()


def _consent(page: Page) -> None:
    """Opens the page on which a person connects a client."""
    origin = page.url.rstrip("/")
    metadata = {
        "client_name": CLIENT,
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
    }
    registered = httpx.post(f"{origin}/oauth/register", json=metadata).raise_for_status().json()
    asked = {
        "response_type": "code",
        "client_id": registered["client_id"],
        "redirect_uri": CALLBACK,
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",  # of RFC 7636
        "code_challenge_method": "S256",
        "state": "picture",
    }
    page.goto(f"{origin}/oauth/authorize?{urlencode(asked)}")
    page.get_by_role("button", name="Connect", exact=True).wait_for()


PICTURES: dict[str, tuple[tuple[int, int], str, Callable[[Page], None]]] = {
    "inbox.png": (DESKTOP, "light", _inbox),
    "delivery-dark.png": (DESKTOP, "dark", _delivery),
    "inbox-phone-dark.png": (PHONE, "dark", _inbox),
    "delivery-phone.png": (PHONE, "light", _delivery),
    "consent.png": (DESKTOP, "light", _consent),
}


def _take(
    browser: Browser,
    origin: str,
    path: Path,
    size: tuple[int, int],
    colours: str,
    open_page: Callable[[Page], None],
) -> None:
    """Signs in, opens a page, and writes the first screen to a PNG."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if colours == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{origin}/login/")
    for field, value in OWNER.items():
        page.fill(f"[name={field}]", value)
    page.locator("[name=password]").press("Enter")
    page.wait_for_url(f"{origin}/")
    open_page(page)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path)
    context.close()


if __name__ == "__main__":
    main()
