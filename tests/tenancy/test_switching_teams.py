"""Another person's team and a missing team in an address get the same answer."""

from __future__ import annotations

import pytest

from tests.inbox.person import Person
from tests.tenancy.team_data import TeamData
from tests.tenancy.test_other_teams import refusal

PATHS = [
    "/",
    "/history/",
    "/audit/",
    "/audit/export.csv",
    "/audit/export.jsonl",
    "/closing-soon/",
    "/pulse",
]


@pytest.mark.parametrize("path", PATHS)
def test_another_team_is_a_404(alices: Person, ours: TeamData, theirs: TeamData, path: str) -> None:
    foreign = alices.get(path, team=theirs.team.slug)
    nobodys = alices.get(path, team="nobody-there")

    assert foreign.status_code == 404
    assert refusal(foreign, theirs.team.slug) == refusal(nobodys)


@pytest.mark.parametrize("path", PATHS)
def test_the_own_team_is_found(alices: Person, ours: TeamData, path: str) -> None:
    assert alices.get(path, team=ours.team.slug).status_code in {200, 204}


@pytest.mark.parametrize("path", ["/", "/history/"])
def test_other_and_unknown_teams_in_a_query_are_the_same(
    alices: Person, ours: TeamData, theirs: TeamData, path: str
) -> None:
    foreign = alices.get(path, q=f"team:{theirs.team.slug}")
    nobodys = alices.get(path, q="team:nobody-there")

    assert foreign.status_code == 200
    assert theirs.words not in foreign.content.decode()
    assert f"“team:{theirs.team.slug}” was left out" in foreign.content.decode()
    assert "“team:nobody-there” was left out" in nobodys.content.decode()
    assert foreign.context["query"] == nobodys.context["query"]


def test_the_return_address_names_no_other_team(
    alices: Person, ours: TeamData, theirs: TeamData
) -> None:
    foreign = alices.see(ours.delivery, back=f"team={theirs.team.slug}")
    nobodys = alices.see(ours.delivery, back="team=nobody-there")

    assert theirs.words not in foreign.content.decode()
    assert foreign.context["neighbours"] == nobodys.context["neighbours"]
