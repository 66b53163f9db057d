"""The team in an address: not one's own and not there are the same answer."""

from __future__ import annotations

import pytest

from tests.inbox.people import Person
from tests.tenancy.house import House
from tests.tenancy.test_other_teams import told

PATHS = [
    "/",
    "/history/",
    "/audit/",
    "/audit/export.csv",
    "/audit/export.jsonl",
    "/leaving/",
    "/pulse",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_team_of_others_is_not_there(
    alices: Person, ours: House, theirs: House, path: str
) -> None:
    foreign = alices.get(path, team=theirs.team.slug)
    nobodys = alices.get(path, team="nobody-there")

    assert foreign.status_code == 404
    assert told(foreign, theirs.team.slug) == told(nobodys)


@pytest.mark.parametrize("path", PATHS)
def test_and_ones_own_is(alices: Person, ours: House, path: str) -> None:
    assert alices.get(path, team=ours.team.slug).status_code in {200, 204}


@pytest.mark.parametrize("path", ["/", "/history/"])
def test_typed_into_a_search_box_they_are_the_same_too(
    alices: Person, ours: House, theirs: House, path: str
) -> None:
    foreign = alices.get(path, q=f"team:{theirs.team.slug}")
    nobodys = alices.get(path, q="team:nobody-there")

    assert foreign.status_code == 200
    assert theirs.words not in foreign.content.decode()
    assert f"“team:{theirs.team.slug}” was left out" in foreign.content.decode()
    assert "“team:nobody-there” was left out" in nobodys.content.decode()
    assert foreign.context["asked"] == nobodys.context["asked"]


def test_the_way_back_names_no_team_of_others(alices: Person, ours: House, theirs: House) -> None:
    foreign = alices.see(ours.delivery, back=f"team={theirs.team.slug}")
    nobodys = alices.see(ours.delivery, back="team=nobody-there")

    assert theirs.words not in foreign.content.decode()
    assert foreign.context["around"] == nobodys.context["around"]
