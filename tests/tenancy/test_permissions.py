"""Each role may do at every address what docs/permissions.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from accounts.models import User
from accounts.sign_in.browsers import session_names
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.tenancy import addresses
from tests.tenancy.addresses import Address
from tests.tenancy.team_data import TeamData
from tests.tenancy.test_other_teams import fields

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).parent.parent.parent / "docs/permissions.md"
LINE = re.compile(r"^\| (GET|POST) \| `(/\S*)` \|([^|]*)\|(.*)\|$", re.MULTILINE)
ROLES = ("nobody", "stranger", "reader", "reviewer", "owner")
# This look-up of an owner asks a name server.
ASKS_ELSEWHERE = "/settings/allowlist/<slug:slug>/look-up"

Table = dict[tuple[str, str], dict[str, str]]


def table() -> Table:
    """Returns role and word for each method and address."""
    permissions: Table = {}
    for method, route, _, cells in LINE.findall(DOCUMENT.read_text()):
        words = [cell.strip() for cell in cells.split("|")]
        assert (method, route) not in permissions, f"{method} {route} has two lines."
        permissions[method, route] = dict(zip(ROLES, words, strict=True))
    return permissions


def stars() -> dict[tuple[str, str], bool]:
    """Returns whether a line has a star. A star means that the page asks for the password again."""
    lines = LINE.findall(DOCUMENT.read_text())
    return {(method, route): what.endswith("* ") for method, route, what, _ in lines}


def ends(address: Address, data: TeamData) -> str:
    of_no_team = address.room in addresses.OF_NO_TEAM
    return address.path_to_nothing() if of_no_team else address.path_in(data)


@pytest.fixture
def sessions(alice: User, bob: User, rita: User, mallory: User) -> dict[str, str]:
    """Returns the session cookie of each kind of person; an anonymous visitor has none."""
    people = {"stranger": mallory, "reader": rita, "reviewer": bob, "owner": alice}
    name = settings.SESSION_COOKIE_NAME
    return {role: Person(user).client.cookies[name].value for role, user in people.items()}


def asked(method: str, path: str, form: dict[str, Any], session: str | None) -> Any:
    """Returns the answer to one request and rolls back its changes."""
    client = Client()
    if session:
        client.cookies[settings.SESSION_COOKIE_NAME] = session
    with transaction.atomic():
        answer = client.get(path) if method == "GET" else client.post(path, form, by_hand=True)
        b"".join(answer)
        transaction.set_rollback(True)
    return answer


def outcome(answer: Any) -> str:
    """Returns the result in the words of the table."""
    if answer.get("Location", "").startswith("/login/?next="):
        return "sign in"
    match answer.status_code:
        case HTTPStatus.FORBIDDEN:
            return "no"
        case HTTPStatus.NOT_FOUND:
            return "not there"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return "no such method"
    assert answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    return "yes"


def observed(data: TeamData, sessions: dict[str, str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Returns method, address and the result for each role."""
    form = fields(data)
    for address in [*addresses.OF_PAGES, *addresses.OF_LINKS]:
        path = ends(address, data)
        for method in ("GET", "POST"):
            outcomes = {
                role: outcome(asked(method, path, form, sessions.get(role)))
                for role in ROLES
                if (f"/{address.route}", role) != (ASKS_ELSEWHERE, "owner")
            }
            yield method, f"/{address.route}", outcomes


def test_every_role_has_the_permissions_of_the_table(
    ours: TeamData, sessions: dict[str, str], subtests: pytest.Subtests
) -> None:
    lines = table()

    for method, route, outcomes in observed(ours, sessions):
        line = lines.pop((method, route), None)
        with subtests.test(f"{method} {route}"):
            if line is None:
                assert set(outcomes.values()) <= {"no such method", "sign in"}, (
                    f"{method} {route} has no line in docs/permissions.md."
                )
            elif set(line.values()) == {"link"}:
                assert len(set(outcomes.values())) == 1, "The link alone counts, not who has it."
            elif line["reader"] == "own":
                others = [outcomes[role] for role in ROLES[:-1]]  # the owner alone may do it
                assert others == ["sign in", "not there", "not there", "not there"]
            else:
                assert outcomes == {role: line[role] for role in outcomes}
    assert not lines, "Lines of docs/permissions.md without an address."


def test_only_starred_actions_ask_for_the_password_again(
    ours: TeamData, alice: User, subtests: pytest.Subtests
) -> None:
    session = Person(alice).client.session
    session[session_names.PASSWORD] = 0
    session.save()

    for (method, route), bears_one in stars().items():
        path = ends(Address(route.removeprefix("/")), ours)
        if route == ASKS_ELSEWHERE:
            continue
        with subtests.test(f"{method} {route}"):
            answer = asked(method, path, fields(ours), session.session_key)
            assert answer.get("Location", "").startswith("/sudo/?next=") == bears_one
