"""The inbox stays within its byte budget on a first and on a repeated visit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Browser

from accounts.models import User
from database.clock import database_now
from inbox.management.synthetic_texts import COMMON
from tests.browser.screen import Screen
from tests.fixtures.served import served
from tests.types import MakeDelivery

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 50
WORDS = COMMON.split()  # no two rows alike, as in a real inbox
COLD_BYTES, WARM_BYTES, REQUESTS = 25_000, 10_000, 8
HEADER_BYTES = 500
PADDING_BYTES = 120  # compressed pages get at most this many random bytes (BrowserCompression)
DELIVERY_BYTES = 25_000
SCRIPT_BYTES, STYLE_BYTES = 20_000, 6_000


class Weighed:
    """Counts the bytes that Chromium receives from the network, including headers."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.kinds: dict[str, str] = {}
        self.bytes: Counter[str] = Counter()
        self.requests: list[str] = []
        session = screen.context.new_cdp_session(screen.page)
        session.on("Network.requestWillBeSent", self._record_request)
        session.on("Network.loadingFinished", self._record_bytes)
        session.send("Network.enable")

    def visit(self, path: str) -> Weighed:
        self.kinds, self.requests = {}, []
        self.bytes.clear()
        self.screen.go(path)
        self.screen.page.wait_for_selector("html[data-ready]")
        return self

    def _record_request(self, event: dict[str, Any]) -> None:
        self.kinds[event["requestId"]] = event["type"]
        self.requests.append(event["request"]["url"])

    def _record_bytes(self, event: dict[str, Any]) -> None:
        self.bytes[self.kinds[event["requestId"]]] += int(event["encodedDataLength"])


@pytest.fixture
def origin(db: None, collected: Path) -> Iterator[str]:
    with served("wsgi", WAKE_TEST_STATIC=str(collected)) as origin:
        yield origin


def test_the_inbox_is_light(
    chromium: Browser, origin: str, alice: User, make_delivery: MakeDelivery
) -> None:
    random = Random(1)  # noqa: S311 - nothing here is a secret
    delivered_at = database_now()
    for number in range(ROWS):
        headline, summary = (" ".join(random.choices(WORDS, k=count)) for count in (7, 14))
        kind = ["output", "update", "output", "question", "alert"][number % 5]
        at = delivered_at + timedelta(microseconds=number)  # so the machine's speed adds no bytes
        make_delivery(type=kind, headline=headline, summary=summary, timeout_seconds=9_000, at=at)
    screen = Screen(chromium, origin, alice)
    weighed = Weighed(screen)

    cold = weighed.visit("/")
    _add_icon(cold)

    assert screen.page.locator(".row").count() == ROWS
    assert 0 < cold.bytes.total() <= COLD_BYTES, cold.bytes
    assert len(cold.requests) <= REQUESTS, cold.requests
    assert 0 < cold.bytes["Script"] <= SCRIPT_BYTES
    assert 0 < cold.bytes["Stylesheet"] <= STYLE_BYTES

    warm = weighed.visit("/")

    assert 0 < warm.bytes.total() <= WARM_BYTES + PADDING_BYTES, warm.bytes
    assert screen.complaints == []
    screen.close()


def test_a_delivery_is_light(
    chromium: Browser, origin: str, alice: User, make_delivery: MakeDelivery
) -> None:
    random = Random(1)  # noqa: S311 - nothing here is a secret
    words = " ".join(random.choices(WORDS, k=200))
    labels = [str(number) for number in range(60)]
    series = [{"name": "Visits", "values": [random.randrange(900) for _ in labels]}]
    options = [{"id": id, "label": f"Option {id}", "text": words[:80]} for id in "AB"]
    blocks = [
        {"type": "markdown", "text": words},
        {"type": "chart", "kind": "line", "labels": labels, "series": series},
        {"type": "choice", "label": "Which?", "options": options},
    ]
    details = json.dumps({"wake_blocks": 1, "blocks": blocks})
    delivery = make_delivery(type="question", details_json=details, timeout_seconds=9_000)
    screen = Screen(chromium, origin, alice)
    weighed = Weighed(screen)

    cold = weighed.visit(f"/deliveries/{delivery.pk}/")

    _add_icon(cold)
    assert screen.page.locator(".chart").count() == 1
    assert 0 < cold.bytes.total() <= DELIVERY_BYTES, cold.bytes
    assert screen.complaints == []
    screen.close()


def _add_icon(cold: Weighed) -> None:
    """Counts the icon of the page for an engine that loads none (chromium-headless-shell)."""
    if any(request.endswith(".svg") for request in cold.requests):
        return
    icon = cold.screen.page.locator("link[rel=icon]").get_attribute("href") or ""
    body = cold.screen.context.request.get(icon).body()
    cold.bytes["Other"] += len(body) + HEADER_BYTES
    cold.requests.append(icon)
