"""No text in a query or a form makes a page fail, neither U+0000, which PostgreSQL cannot store,
nor a number that Python refuses to read."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from accounts.models import User
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.tenancy import addresses
from tests.tenancy.team_data import TeamData
from tests.tenancy.test_other_teams import ELSEWHERE, both_ways, fields, names_in_forms

pytestmark = pytest.mark.slow

LONG_NUMBER = "9" * 4_301


@pytest.mark.parametrize("odd", ["\0", LONG_NUMBER], ids=["null", "long number"])
def test_no_page_fails_for_an_odd_text(
    odd: str, alice: User, ours: TeamData, subtests: pytest.Subtests
) -> None:
    form = {**dict.fromkeys(names_in_forms(), odd), **fields(ours)}
    form |= {name: f"{value}\0" for name, value in form.items() if odd == "\0"}

    for address in [*addresses.WITH_AN_OBJECT, *addresses.WITHOUT]:
        if address.route in ELSEWHERE:
            continue
        with subtests.test(address.route), transaction.atomic():
            client = Person(alice).client
            query = client.get(address.path_in(ours), form)
            answers: list[Any] = [query]
            for browser in (client, Client()):
                answers += both_ways(browser, address.path_in(ours), form)
            transaction.set_rollback(True)

            assert all(each.status_code < HTTPStatus.INTERNAL_SERVER_ERROR for each in answers)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/agents/", "q"), ("/history/", "q"), ("/audit/", "actor")],
)
def test_a_null_character_in_a_query_is_removed(
    path: str, name: str, alice: User, ours: TeamData
) -> None:
    answer = Person(alice).get(path, **{name: "a\0b"})

    assert answer.status_code == HTTPStatus.OK
    assert answer.wsgi_request.GET[name] == "ab"


def test_a_null_character_in_a_cookie_signs_no_one_in(db: None) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "\0" * 32

    assert client.get("/").status_code == HTTPStatus.FOUND


def test_a_path_with_a_null_character_names_nothing(db: None, subtests: pytest.Subtests) -> None:
    texts = re.compile(r"<(?:str:|path:)?\w+>")
    for address in addresses.ALL:
        if texts.search(address.route):
            with subtests.test(address.route):
                path = addresses.PARAMETER.sub("1", texts.sub("%00", address.route))

                assert Client().get(f"/{path}").status_code == HTTPStatus.NOT_FOUND
                assert Client().post(f"/{path}").status_code == HTTPStatus.NOT_FOUND


def test_a_machine_gets_json_for_a_path_with_a_null_character(db: None) -> None:
    answer = Client().get("/@%00/agent/.well-known/agent-card.json")

    assert answer["Content-Type"] == "application/json"
