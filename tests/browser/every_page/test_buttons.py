"""The server accepts every button of every page: no answer is 403, 404 or 500, and no page
complains."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from accounts.audit import person
from accounts.models import Agent, User
from accounts.sign_in.two_step import one_time_codes, second_factor
from inbox.answering.acknowledged import KEY
from tests.browser.every_page.hand import Hand, words
from tests.browser.pages import pages
from tests.browser.screen import Open
from tests.browser.world import World
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.types import MakeDelivery, MakeRule
from wake.models import Delivery

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="A snapshot is a copy of a file."),
]

FOLDER = Path(__file__).parent
LINES = [line.split(" | ") for line in (FOLDER / "buttons.txt").read_text().splitlines()]
LISTED = {(who, page): set(buttons) for who, page, *buttons in LINES}
BY_SCRIPTS = {
    "Copy",
    "Create passkey",
    "Select all",
    "Show the password",
    "Turn on in this browser",
    "Use your passkey",
}
WITHOUT_SCRIPTS = {"Preview changes"}
# An owner's pages take minutes, so they are shared between workers (tests/conftest.py).
PARTS = 4


def press_all(hand: Hand, who: str, addresses: dict[str, str], subtests: pytest.Subtests) -> None:
    """Also fails if a page has lost a button that buttons.txt lists. A new button is pressed even
    if it is not listed."""
    absent = WITHOUT_SCRIPTS if hand.screen.scripts else BY_SCRIPTS
    for name, path in addresses.items():
        buttons = hand.buttons_of(path)
        with subtests.test(f"{who}, {name} has its buttons"):
            lost = LISTED.get((who, name), set()) - absent - {words(button) for button in buttons}
            assert lost == set()
        for button in buttons:
            with subtests.test(f"{who}, {name}: {words(button)}"):
                assert hand.press(path, button) == []


@pytest.fixture
def client(settings: Any, alice: User) -> Client:
    """Returns Alice's session. Alice's answers can be undone for an hour."""
    settings.WAKE_HOLD_SECONDS = 3600
    client = Client()
    client.force_login(alice)
    return client


def hand_of(open_browser: Open, client: Client, *, scripts: bool = True) -> Hand:
    """Opens a window with the session of the client."""
    screen = open_browser(scripts=scripts)
    for name, cookie in client.cookies.items():
        given = {"name": name, "value": cookie.value, "url": screen.origin}
        screen.context.add_cookies([given])  # type: ignore[list-item]
    return Hand(screen)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("scripts", [True, False])
def test_every_button_of_every_page_is_accepted(
    open_browser: Open,
    alice: User,
    client: Client,
    world: World,
    scripts: bool,
    part: int,
    subtests: pytest.Subtests,
) -> None:
    two = urlencode({"id": [world.deliveries[kind].pk for kind in ("report", "alert")]}, doseq=True)
    addresses = {
        **pages(world, alice),
        **{f"delivery, {kind}": world.path(kind) for kind in world.deliveries},
        "fields": world.path("blocks", "edit"),
        "raw": f"{world.path('report')}?details=raw",
        "selection": f"/?{two}",
        "search": "/?q=type:alert",
        "review": f"/batch/?{two}",
        "snooze": f"/snoozed/choices?{two}",
    }

    mine = dict(list(addresses.items())[part::PARTS])
    press_all(hand_of(open_browser, client, scripts=scripts), "an owner", mine, subtests)

    assert {page for who, page in LISTED if who == "an owner"} <= addresses.keys()


@pytest.mark.parametrize("scripts", [True, False])
def test_every_button_that_an_act_brings_is_accepted(
    open_browser: Open,
    alice: User,
    client: Client,
    world: World,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    scripts: bool,
    subtests: pytest.Subtests,
) -> None:
    turn_on_second_factor(alice)
    client.force_login(alice)
    make_rule(role="owner", needed=2)
    voted, agent = make_delivery(), f"/agents/{world.agent.pk}/"
    archived = Agent.objects.create(team=world.agent.team, agent_id="archived-agent")
    reviewed = world.deliveries["report"]
    for path, fields in {
        f"/deliveries/{voted.pk}/response": answer_to(voted),
        world.path("arabic", "response"): answer_to(world.deliveries["arabic"]),
        world.path("alert", "comments"): {"id": uuid4(), "text": "Why?"},
        world.path("long", "assignment"): {},
        "/acknowledgements": {"deliveries": world.deliveries["update"].pk},
        f"{agent}pause": {},
        f"/agents/{archived.pk}/archive": {},
    }.items():
        assert client.post(path, fields).status_code == HTTPStatus.SEE_OTHER, path
    client.post("/views", {"name": "Alerts", "q": "type:alert"}, page="/?q=type:alert")
    choice = {f"answer-{reviewed.pk}": "rejected", f"hash-{reviewed.pk}": reviewed.content_hash}
    given = {"id": reviewed.pk, "read": reviewed.pk, "note": "No.", **choice}
    batch = client.post("/batch/answer", given, page=f"/batch/?id={reviewed.pk}")
    addresses = {
        "inbox": "/",
        "answered": world.path("arabic"),
        "voted": f"/deliveries/{voted.pk}/",
        "discussed": world.path("alert"),
        "taken": world.path("long"),
        "acknowledged": world.path("update"),
        "paused": agent,
        "archived": f"/agents/{archived.pk}/",
        "agents": "/agents/?state=archived",
        "view": "/?q=type:alert",
        "batch": batch["Location"],
        "rules": "/settings/rules/",
        "security": "/settings/security/",
        "turn off": "/settings/security/codes/off/",
    }
    let_acknowledgements_be_undone_for_an_hour(client)
    press_all(hand_of(open_browser, client, scripts=scripts), "after an act", addresses, subtests)


def let_acknowledgements_be_undone_for_an_hour(client: Client) -> None:
    """Otherwise the button leaves the page after two minutes."""
    session = client.session
    for acknowledged in session[KEY]:
        acknowledged["at"] += timedelta(hours=1).total_seconds()
    session.save()


def answer_to(delivery: Delivery) -> dict[str, str]:
    return {"status": "approved", "content_hash": delivery.content_hash}


def turn_on_second_factor(user: User) -> None:
    secret, at = one_time_codes.new_secret(), timezone.now() - timedelta(minutes=1)
    code = one_time_codes.code_at(secret, one_time_codes.step_at(at))
    assert second_factor.turn_on(user, secret, code, by=person(user), at=at)


def test_every_button_of_a_reader_is_accepted(
    open_browser: Open, rita: User, client: Client, world: World, subtests: pytest.Subtests
) -> None:
    client.force_login(rita)
    addresses = {
        "inbox": "/",
        "waiting": world.path("report"),
        "answered": world.path("redirected"),
        "agent": f"/agents/{world.agent.pk}/",
        "snoozed": "/snoozed/",
        "leave": f"/settings/members/{world.agent.team.slug}/leave/",
    }

    press_all(hand_of(open_browser, client), "a reader", addresses, subtests)


def test_every_button_before_the_sign_in_is_accepted(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    turn_on_second_factor(alice)
    visitor = Client()
    visitor.post("/login/", {"username": alice.email, "password": PASSWORD})
    addresses = {
        "sign-in": "/login/",
        "code": "/login/code/",
        "reset": "/login/reset/",
        "join": f"/join/{world.link}/",
        "confirm": reverse("confirm-address", args=[world.confirming]),
        "restore": reverse("restore-address", args=[world.undoing]),
    }

    press_all(hand_of(open_browser, visitor), "a visitor", addresses, subtests)
