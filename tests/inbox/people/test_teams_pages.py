"""Teams in the browser: everybody may make one, and owners name theirs."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent, Team, User
from accounts.teams import MOST_OWNED
from tests.conftest import PASSWORD
from tests.inbox.people import Person, text_of

TEAMS = "/settings/teams/"


def test_somebody_without_a_team_makes_one(db: None) -> None:
    lone = Person(User.objects.create_user("lone@example.com", PASSWORD))

    made = lone.client.post(TEAMS, {"team_name": "Orchard"}, follow=True)

    assert made.redirect_chain == [(TEAMS, 303)]
    assert "Orchard is yours. Invite others under Members." in text_of(made)
    assert "You are its owner." in text_of(made)
    team = Team.objects.get()
    assert (team.slug, team.memberships.get().user) == ("orchard", lone.user)
    assert AuditEvent.objects.get(event="team.added").address == "127.0.0.1"
    assert "/settings/members/orchard/invite/" in lone.get("/settings/members/").content.decode()


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "two\u2028lines"])
def test_a_name_is_one_line_of_a_few_words(name: str, alice: User, team: Team) -> None:
    alices = Person(alice)

    new = alices.client.post(TEAMS, {"team_name": name})
    renamed = alices.client.post(f"{TEAMS}garden/name", {"team_name": name})

    assert (new.status_code, renamed.status_code) == (422, 422)
    assert "Not saved." in text_of(renamed)
    assert Team.objects.get().name == "Garden"


def test_a_name_is_the_owners_to_change(alice: User, bob: User, team: Team) -> None:
    changed = Person(alice).client.post(f"{TEAMS}garden/name", {"team_name": "Orchard & <b>"})
    refused = Person(bob).client.post(f"{TEAMS}garden/name", {"team_name": "Bob's"})

    assert (changed.status_code, refused.status_code) == (303, 403)
    assert "Orchard &amp; &lt;b&gt;" in Person(bob).get(TEAMS).content.decode()
    assert f"{TEAMS}garden/name" not in Person(bob).get(TEAMS).content.decode()


def test_nobody_owns_teams_without_end(alice: User) -> None:
    alices = Person(alice)
    for _ in range(MOST_OWNED - 1):
        assert alices.client.post(TEAMS, {"team_name": "Orchard"}).status_code == 303

    refused = alices.client.post(TEAMS, {"team_name": "Orchard"})

    assert refused.status_code == 422
    assert "as many teams as one person can" in text_of(refused)
