"""Every page meets WCAG 2.2 AA and fits its window, in light and dark, on desktops and phones."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from tests.browser.pages import pages
from tests.browser.screen import AXE, Open, Screen
from tests.browser.world import World
from tests.types import MakeDelivery
from wake.models import Response
from wake.responses import respond

# `make test` looks at some pages only, each in one of two sizes, and so saves three minutes. `make
# system` looks at every page in all sizes.
sizes = pytest.mark.parametrize(
    "in_all_sizes", [False, pytest.param(True, marks=pytest.mark.system)]
)
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"


def test_axe_is_the_expected_version() -> None:
    assert hashlib.sha256(AXE.encode()).hexdigest() == AXE_SHA256


@pytest.mark.system
def test_every_page_is_accessible_and_inside_its_window(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    screen = open_browser(alice)

    for name, path in pages(world, alice).items():
        with subtests.test(name):
            screen.go(path)
            assert screen.problems() == []


@sizes
def test_every_kind_of_delivery_is_accessible_and_inside_its_window(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests, in_all_sizes: bool
) -> None:
    screen = open_browser(alice)
    # The page of "report" is tested above, and the page of "tried" looks the same.
    kinds = sorted(world.deliveries.keys() - {"report", "tried"})
    fields = world.path("blocks", "edit")
    raw = f"{world.path('report')}?details=raw"

    for path in [*(world.path(kind) for kind in kinds), fields, raw]:
        with subtests.test(path):
            screen.go(path)
            assert screen.problems(in_all_sizes=in_all_sizes) == []


@sizes
def test_the_pages_after_an_action_are_accessible_and_inside_their_window(
    open_browser: Open,
    alice: User,
    bob: User,
    world: World,
    subtests: pytest.Subtests,
    in_all_sizes: bool,
) -> None:
    screen = open_browser(alice)

    for act in [_unreadable, _preview, _conflict, _too_late, _menus, _error, _batch, _approve]:
        with subtests.test(act.__name__):
            act(screen, world)
            assert screen.problems(in_all_sizes=in_all_sizes) == []


def test_public_pages_are_accessible_and_inside_their_window(
    open_browser: Open, rita: User, world: World, subtests: pytest.Subtests
) -> None:
    with subtests.test("who may only read"):
        reader = open_browser(rita)
        for path in ("/", world.path("report")):
            reader.go(path)
            assert reader.problems() == []

    with subtests.test("who is not signed in"):
        nobody = open_browser()
        for path in (f"/join/{world.link}/", "/login/reset/", "/login/"):
            nobody.go(path)
            assert nobody.page.locator(".brand").inner_text().strip() == "Wake"
            assert nobody.problems() == []
        nobody.page.get_by_label("E-mail").fill("nobody@example.com")
        nobody.page.get_by_label("Password", exact=True).fill("wrong")
        nobody.press("Sign in")
        assert nobody.problems() == []


def test_the_page_about_an_agent_is_accessible_to_everybody(
    open_browser: Open, world: World
) -> None:
    """The page has no scripts to wait for."""
    screen = open_browser()

    for path in (f"/{world.agent.card}", "/@garden/nobody"):
        screen.page.goto(path)
        assert screen.problems() == []


def test_an_empty_inbox_is_accessible(open_browser: Open, alice: User) -> None:
    screen = open_browser(alice)

    for path in ("/", "/?q=agent:x", "/history/"):
        screen.go(path)
        assert screen.problems() == []


def test_the_checks_find_planted_problems(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    screen = open_browser(alice, width=320, bypass_csp=True)
    screen.go("/")

    screen.page.add_style_tag(content=":root { --ink-3: #bbb } .row { inline-size: 700px }")

    problems = screen.problems()
    assert any("light, color-contrast" in problem for problem in problems)
    assert any("outside" in problem for problem in problems)


def test_with_the_keyboard_alone_focus_is_always_seen(
    open_browser: Open, alice: User, world: World
) -> None:
    page = open_browser(alice).go("/")
    stops: list[dict[str, Any]] = []

    for _ in range(25):
        page.keyboard.press("Tab")
        stop: Any = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e),"
            " r = e.getBoundingClientRect();"
            " return {name: e.textContent.trim() || e.name, ring: parseFloat(s.outlineWidth),"
            " style: s.outlineStyle, inView: r.top >= -1 && r.bottom <= innerHeight + 1} }"
        )
        stops.append(stop)

    assert stops[0]["name"] == "Skip to content"
    unseen = [
        stop["name"]
        for stop in stops
        if stop["style"] == "none" or stop["ring"] < 2 or not stop["inView"]
    ]
    assert unseen == []


def test_the_skip_link_leads_to_the_content(open_browser: Open, alice: User) -> None:
    page = open_browser(alice).go("/")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


def test_wide_spacing_hides_nothing(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    """WCAG 1.4.12 asks that wider spacing of text hides nothing."""
    screen = open_browser(alice, width=390, bypass_csp=True)
    spacing = (
        "* { line-height: 1.5 !important; letter-spacing: .12em !important;"
        " word-spacing: .16em !important; } p { margin-block-end: 2em !important; }"
    )

    for path in ("/", world.path("question"), world.path("alert", "edit"), "/history/"):
        with subtests.test(path):
            screen.go(path)
            screen.page.add_style_tag(content=spacing)
            assert screen.outside() == []


def test_read_from_right_to_left_nothing_leaves_its_window(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    screen = open_browser(alice, width=320)

    for path in ("/", world.path("arabic"), world.path("question"), "/history/"):
        with subtests.test(path):
            page = screen.go(path)
            page.evaluate("document.documentElement.dir = 'rtl'")
            assert screen.outside() == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_with_forced_colours_every_control_has_an_edge(
    open_browser: Open, alice: User, world: World
) -> None:
    screen = open_browser(alice, forced_colors="active")

    for path in ("/", world.path("report")):
        page = screen.go(path)
        edges: Any = page.locator("main .button, main .input").evaluate_all(
            "all => all.filter(e => e.checkVisibility())"
            ".map(e => [e.outerHTML, getComputedStyle(e).borderTopStyle,"
            " parseFloat(getComputedStyle(e).borderTopWidth)])"
        )
        assert edges
        assert [edge for edge in edges if edge[1] == "none" or edge[2] < 1] == []


def test_on_paper_there_are_no_controls(open_browser: Open, alice: User, world: World) -> None:
    screen = open_browser(alice)
    screen.page.emulate_media(media="print")

    for path in ("/", world.path("report")):
        page = screen.go(path)
        assert page.get_by_text("competitors").first.is_visible()
        assert page.locator(":is(button, nav, textarea, input):visible").count() == 0


@pytest.mark.parametrize("media", [{"forced_colors": "active"}, {}], ids=["forced", "own"])
def test_a_box_is_seen_without_its_background(
    open_browser: Open, alice: User, world: World, media: dict[str, Any]
) -> None:
    """Some boxes differ from the page only by their background: parts that need attention, an
    agent's figures, and the answers of a batch. Forced colours remove this background."""
    screen = open_browser(alice, **media)
    batch = f"/batch/?id={world.deliveries['tried'].pk}&id={world.deliveries['long'].pk}"

    for path, box in [
        ("/settings/", ".attention"),
        (f"/agents/{world.agent.pk}/", ".tiles__tile"),
        (batch, ".batch__choice"),
    ]:
        page = screen.go(path)
        width = page.locator(box).first.evaluate("e => getComputedStyle(e).borderTopWidth")
        assert width == ("1px" if media else "0px"), path


def test_with_forced_colours_the_main_answer_is_marked(
    open_browser: Open, alice: User, world: World
) -> None:
    page = open_browser(alice, forced_colors="active").go(world.path("report"))

    widths = [
        page.get_by_role("button", name=name).evaluate("e => getComputedStyle(e).borderTopWidth")
        for name in ("Approve", "Reject")
    ]

    assert widths == ["3px", "1px"]


def test_on_paper_a_question_has_its_options_and_values(
    open_browser: Open, alice: User, world: World
) -> None:
    screen = open_browser(alice)
    screen.page.emulate_media(media="print")

    page = screen.go(world.path("blocks"))

    for text in ("Which one?", "One price", "Fair to small teams.", "Sales", "Floor"):
        assert page.get_by_text(text).first.is_visible(), text
    assert page.get_by_label("Floor").input_value() == "10"
    assert page.get_by_label("Floor").is_visible()
    assert page.locator(":is(button, nav, textarea):visible").count() == 0


def test_on_paper_every_time_has_its_day(open_browser: Open, alice: User, world: World) -> None:
    screen = open_browser(alice)
    page = screen.go(world.path("report"))
    ends = page.locator(".delivery__head .on-paper")
    assert ends.is_hidden()

    screen.page.emulate_media(media="print")

    assert ends.is_visible()
    times = page.locator(".delivery__head time")
    assert times.count() == 2
    for text in times.evaluate_all("all => all.map(e => getComputedStyle(e, '::after').content)"):
        assert str(timezone.now().year) in text


def test_on_paper_nothing_is_folded(open_browser: Open, alice: User, world: World) -> None:
    screen = open_browser(alice)
    screen.page.emulate_media(media="print")

    page = screen.go(world.path("report"))
    assert page.locator("#activity li").first.is_visible()
    assert page.get_by_text("Discuss with your team").count() == 1
    assert page.get_by_text("Discuss with your team").is_hidden()

    page = screen.go("/history/")
    assert page.get_by_text("Filters", exact=True).is_hidden()


def _approve(screen: Screen, world: World) -> None:
    screen.go(world.path("report"))
    screen.press("Approve")


def _unreadable(screen: Screen, world: World) -> None:
    page = screen.go(world.path("alert", "edit"))
    page.get_by_label("The agent's JSON").fill("{oops")
    screen.press("Send changes")


def _preview(screen: Screen, world: World) -> None:
    page = screen.go(world.path("question", "edit"))
    page.get_by_label("a", exact=True).fill("45 a month")
    page.wait_for_selector(".diff__line--added")


def _conflict(screen: Screen, world: World) -> None:
    page = screen.go(world.path("arabic"))
    page.get_by_label("Message to the agent").fill("Mine.")
    first = world.deliveries["arabic"]
    bob = User.objects.get(email="bob@example.com")
    respond(
        first,
        by=bob,
        status="rejected",
        feedback="His.",
        content_hash=first.content_hash,
        at=timezone.now(),
    )
    screen.press("Reject")


def _too_late(screen: Screen, world: World) -> None:
    screen.go(world.path("rejected"))
    at = timezone.now()
    Response.objects.filter(delivery=world.deliveries["rejected"]).update(
        responded_at=at, sent_at=at, picked_up_at=at, picked_up_by="poll"
    )
    screen.press("Undo")


def _batch(screen: Screen, world: World) -> None:
    ids = "&".join(f"id={world.deliveries[name].pk}" for name in ("tried", "long"))
    page = screen.go(f"/batch/?{ids}")
    page.get_by_label("Reject").first.check()
    screen.press("Send answers")


def _menus(screen: Screen, world: World) -> None:
    screen.go(world.path("tried"))
    screen.more("Saved replies")
    screen.page.get_by_text("Snooze", exact=True).click()


def _error(screen: Screen, world: World) -> None:
    page = screen.go("/settings/quiet-hours/")
    page.get_by_label("From").fill("22:00")
    screen.press("Save")
