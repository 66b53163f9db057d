"""The page for the code of a terminal shows what asks, and decides nothing by itself."""

from __future__ import annotations

from typing import Any

import pytest
from oauth2_provider.models import DeviceGrant

from accounts.models import Agent, AuditEvent, DeviceSignIn, Team, User
from accounts.sign_in.browsers import session_names
from database.clock import database_now
from tests.accounts.oauth.terminal import Terminal, connect, decide, error_of, open_link, refuse
from tests.inbox.person import Person, text_of


def test_an_opened_link_decides_nothing(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    before = list(DeviceSignIn.objects.values()), list(DeviceGrant.objects.values())
    page = Person(alice).client

    for more in ({}, {"decision": "connect", "agent": str(agent.pk), "days": "30"}):
        assert page.get("/device/", {"code": terminal.code, **more}).status_code == 200

    assert before == (list(DeviceSignIn.objects.values()), list(DeviceGrant.objects.values()))
    assert error_of(terminal.poll()) == "authorization_pending"
    assert not AuditEvent.objects.filter(event="terminal.connected").exists()


def test_another_site_cannot_decide(alice: User, agent: Agent) -> None:
    terminal, browser = Terminal(), Person(alice).client
    browser._sends_tokens = False

    answer = browser.post(
        "/device/", {"code": terminal.code, "agent": str(agent.pk), "decision": "connect"}
    )

    assert answer.status_code == 403
    assert error_of(terminal.poll()) == "authorization_pending"


def test_the_page_asks_for_the_password_again(alice: User, client: Any) -> None:
    terminal = Terminal()
    anonymous = client.get("/device/", {"code": terminal.code})
    assert anonymous.headers["Location"] == f"/login/?next=/device/%3Fcode%3D{terminal.code}"

    browser = Person(alice).client
    session = browser.session
    session[session_names.PASSWORD] = 0
    session.save()
    assert browser.get("/device/", {"code": terminal.code}).headers["Location"] == (
        f"/sudo/?next=%2Fdevice%2F%3Fcode%3D{terminal.code}"
    )


def test_a_team_that_requires_two_step_sign_in_requires_it_here(
    alice: User, agent: Agent, team: Team
) -> None:
    Team.objects.filter(pk=team.pk).update(second_factor_required_at=database_now())
    terminal = Terminal()

    assert open_link(alice, terminal.code).headers["Location"] == "/settings/security/codes/"
    answer = Person(alice).client.post(
        "/device/", {"code": terminal.code, "decision": "connect"}, by_hand=True
    )

    assert answer.headers["Location"] == "/settings/security/codes/"
    assert error_of(terminal.poll()) == "authorization_pending"


@pytest.mark.parametrize("typed", ["{code}", "{lower}", " {lower} ", "{letters}", "{spaced}"])
def test_a_code_may_be_typed_in_any_way(typed: str, alice: User, agent: Agent) -> None:
    code = Terminal().code
    letters = code.replace("-", "")
    ways = {
        "code": code,
        "lower": code.lower(),
        "letters": letters,
        "spaced": " ".join(letters),
    }

    page = open_link(alice, typed.format(**ways))

    assert page.status_code == 200
    assert "olga-laptop" in text_of(page)


@pytest.mark.parametrize("typed", ["BCDF-GHJK", "BCDF", "AEIO-UAEI", "x" * 500, "ß" * 8, "-"])
def test_a_wrong_code_is_refused(typed: str, alice: User) -> None:
    Terminal()

    page = open_link(alice, typed)

    assert page.status_code == 422
    assert "This code doesn't work." in text_of(page)


def test_a_wrong_an_expired_and_a_used_code_look_the_same(alice: User, agent: Agent) -> None:
    used, refused, expired = Terminal(), Terminal(), Terminal()
    connect(alice, used.code, agent)
    refuse(alice, refused.code)
    DeviceGrant.objects.filter(status="authorization-pending").update(expires=database_now())

    pages = {
        open_link(alice, code).content.decode().replace(code, "")
        for code in (used.code, refused.code, expired.code, "BBBB-BBBB")
    }

    assert len({main_of(page) for page in pages}) == 1


def main_of(page: str) -> str:
    return page.partition("<main")[2].partition("</main>")[0]


def test_a_decision_counts_once(alice: User, agent: Agent) -> None:
    terminal = Terminal()
    refuse(alice, terminal.code)

    answer = decide(
        alice,
        {"code": terminal.code, "agent": str(agent.pk), "days": "30", "decision": "connect"},
    )

    assert answer.status_code == 422
    assert error_of(terminal.poll()) == "access_denied"


def test_codes_cannot_be_guessed(alice: User, agent: Agent) -> None:
    page = Person(alice).client
    answers = [page.get("/device/", {"code": "BCDF-GHJK"}).status_code for _ in range(21)]
    assert answers == [422] * 20 + [429]

    terminal = Terminal()
    right = page.get("/device/", {"code": terminal.code})

    assert right.status_code == 429
    assert right.headers["Retry-After"]
    assert "Too many attempts." in text_of(right)
    assert "olga-laptop" not in text_of(right)


@pytest.mark.parametrize(
    ("machine", "shown"),
    [
        ("olga\r\nlaptop\t!", "olga laptop !"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("a\u202eb\u200bc", "abc"),
        ("x" * 5_000, "x" * 80),
        ("\x00\x1b[2J", "[2J"),
        ("оlga-laptop", "nothing"),  # noqa: RUF001 - its first letter is Cyrillic
        ("", "nothing"),
    ],
)
def test_the_name_of_a_machine_is_one_visible_line(machine: str, shown: str, alice: User) -> None:
    terminal = Terminal(machine)

    page = open_link(alice, terminal.code)

    assert f"Calls itself {shown}" in text_of(page)
    assert "<script>alert" not in page.content.decode()
    assert len(DeviceSignIn.objects.get().machine) <= 80
