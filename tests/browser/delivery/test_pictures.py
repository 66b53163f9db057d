"""The pictures of a delivery are in their place at once and come from our origin. A link shows each
of them larger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiKey, User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from tests.wake.blobs.drawing import drawn
from tests.wake.blobs.showing import file, image, inline, page
from wake.blobs.uploads import upload
from wake.models import Delivery

SIZES = [(1400, 500), (300, 1600), (60, 40)]  # broad, high and small
LONG = {"type": "text", "text": "A line.\n" * 400}
SHIFTS = """() => new Promise(done => {
  let sum = 0
  new PerformanceObserver(list => list.getEntries().forEach(entry => { sum += entry.value }))
    .observe({type: "layout-shift", buffered: true})
  setTimeout(() => done(sum), 300)
})"""
LOADED = "() => [...document.images].map(image => image.complete && image.naturalWidth)"
# Returns the place of each picture on the page.
BOXES = """() => [...document.querySelectorAll(".picture img")].map(image => {
  const {width, height} = image.getBoundingClientRect()
  return [Math.round(width), Math.round(height)]
})"""


@pytest.fixture
def delivery(make_delivery: MakeDelivery, key: ApiKey) -> Delivery:
    at = timezone.now()
    stored = upload(key, drawn("JPEG", SIZES[0]), content_type="image/jpeg", at=at).blob
    report = upload(key, b"a,b", content_type="text/csv", at=at).blob
    pictures = [inline(drawn(size=size), caption="A caption") for size in SIZES[1:]]
    blocks = [
        image(str(stored.pk), "A broad gradient", title="Before"),
        *pictures,
        file(str(report.pk), "report.csv"),
        image("00000000-0000-4000-8000-000000000000", "What was removed"),
    ]
    return make_delivery(details_json=json.dumps(page(*blocks)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pictures_are_shown_and_nothing_moves(
    open_browser: Open, alice: User, delivery: Delivery, width: int, scheme: Any
) -> None:
    screen = open_browser(alice, width=width, scheme=scheme)
    screen.page.route("**/images/**", lambda route: None)  # holds every picture back
    screen.page.goto(f"/deliveries/{delivery.pk}/", wait_until="domcontentloaded")
    before = screen.page.evaluate(BOXES)

    screen.page.unroute("**/images/**")
    for picture in screen.page.locator(".picture img").all():
        picture.scroll_into_view_if_needed()
        picture.wait_for()
    screen.page.wait_for_function("() => [...document.images].every(image => image.naturalWidth)")

    assert screen.page.evaluate(LOADED) == [1400, 300, 60]
    assert screen.page.evaluate(BOXES) == before
    assert screen.page.evaluate(SHIFTS) < 0.01
    assert all(box[0] <= width for box in before)
    assert before[2] == [60, 40]  # a small picture is not enlarged
    assert screen.left_the_origin == []


def test_pictures_have_no_accessibility_problem(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    screen = open_browser(alice)

    screen.go(f"/deliveries/{delivery.pk}/")

    assert screen.problems() == []
    names = [link.get_attribute("alt") for link in screen.page.locator(".picture a img").all()]
    assert names == ["A broad gradient", "A gradient", "A gradient"]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_picture_opens_larger_by_its_link(
    open_browser: Open, alice: User, delivery: Delivery, scripts: bool
) -> None:
    screen = open_browser(alice, width=390, scripts=scripts)
    screen.go(f"/deliveries/{delivery.pk}/")
    shown = screen.page.locator(".picture img").first.bounding_box()

    screen.follow("A broad gradient")

    assert "/images/" in screen.page.url
    assert shown is not None
    assert shown["width"] < 390
    if scripts:
        assert screen.page.evaluate("() => document.images[0].naturalWidth") == 1400
        assert screen.page.evaluate("() => document.contentType") == "image/jpeg"
    screen.complaints.clear()  # the browser's own page for a picture has an inline style


def test_a_picture_far_below_is_not_loaded_at_once(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    row = make_delivery(details_json=json.dumps(page(LONG, inline(drawn()))))
    screen = open_browser(alice)
    requested: list[str] = []
    screen.page.on("request", lambda request: requested.append(request.url))

    screen.go(f"/deliveries/{row.pk}/")
    screen.page.wait_for_load_state("networkidle")
    assert not [url for url in requested if "/images/" in url]
    screen.page.locator(".picture img").scroll_into_view_if_needed()
    screen.page.wait_for_function("() => document.images[0].naturalWidth")

    assert len([url for url in requested if "/images/" in url]) == 1


def test_a_file_is_downloaded(open_browser: Open, alice: User, delivery: Delivery) -> None:
    screen = open_browser(alice)
    screen.go(f"/deliveries/{delivery.pk}/")

    with screen.page.expect_download() as download:
        screen.page.get_by_role("link", name="report.csv").click()

    assert download.value.suggested_filename == "report.csv"
    assert download.value.path().read_bytes() == b"a,b"
