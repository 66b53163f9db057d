"""Everyone may create a team in the browser, and owners rename theirs."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Agent, AuditEvent, Team, User
from accounts.teams.teams import MAX_OWNED
from tests.fixtures.people import PASSWORD
from tests.inbox.person import Person, text_of

TEAMS = "/settings/teams/"


def test_a_person_without_a_team_creates_one(db: None) -> None:
    lone = Person(User.objects.create_user("lone@example.com", PASSWORD))

    answer_page = lone.client.post(TEAMS, {"team_name": "Orchard"}, follow=True)

    assert answer_page.redirect_chain == [(TEAMS, 303)]
    assert "Orchard was created. Invite people under Members." in text_of(answer_page)
    assert "You're an owner." in text_of(answer_page)
    team = Team.objects.get()
    assert (team.slug, team.memberships.get().user) == ("orchard", lone.user)
    assert AuditEvent.objects.get(event="team.added").address == "127.0.0.1"
    assert "/settings/members/orchard/invite/" in lone.get("/settings/members/").content.decode()


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "two\u2028lines"])
def test_a_name_is_one_short_line(name: str, alice: User, team: Team) -> None:
    alices = Person(alice)

    new = alices.client.post(TEAMS, {"team_name": name})
    renamed = alices.client.post(f"{TEAMS}garden/name", {"team_name": name})

    assert (new.status_code, renamed.status_code) == (422, 422)
    assert "Couldn't save." in text_of(renamed)
    assert Team.objects.get().name == "Garden"


@pytest.mark.parametrize(
    "name", ["\u200b\u200b", "\u3164", "\u2800 \u2060", "\U000e0041", "\u0301"]
)
@pytest.mark.parametrize("whose", ["team", "new team", "person", "agent", "caller"])
def test_a_name_of_invisible_characters_is_refused(
    whose: str, name: str, alice: User, agent: Agent
) -> None:
    """Lists and the audit used to show an empty name."""
    form, path = {
        "team": ({"team_name": name}, f"{TEAMS}garden/name"),
        "new team": ({"team_name": name}, TEAMS),
        "person": ({"display_name": name, "time_zone": "UTC"}, "/settings/profile/"),
        "agent": ({"agent_id": name, "team": agent.team.pk}, "/agents/new/"),
        "caller": ({"name": name, "days": "", "version": 0}, f"/agents/{agent.pk}/callers/new/"),
    }[whose]

    refused = Person(alice).client.post(path, form)

    assert refused.status_code == 422
    assert "Use at least one character that people can see." in text_of(refused)
    with pytest.raises(ValidationError, match="that people can see"):
        Agent(team=agent.team, agent_id=name).full_clean()


@pytest.mark.parametrize("name", ["7", "é", "庭", "ก", "🌱", "👩\u200d🌾", "ن", "ن\u200cن", "-"])
def test_a_name_may_be_in_any_script(name: str, alice: User, team: Team) -> None:
    assert Person(alice).client.post(f"{TEAMS}garden/name", {"team_name": name}).status_code == 303
    assert Team.objects.get().name == name


def test_a_name_hides_no_characters(alice: User, team: Team) -> None:
    refused = Person(alice).client.post(f"{TEAMS}garden/name", {"team_name": "a\u200bb"})

    assert refused.status_code == 422
    assert "Invisible characters are not allowed here: a⟨U+200B⟩b" in text_of(refused)


def test_only_owners_rename_a_team(alice: User, bob: User, team: Team) -> None:
    changed = Person(alice).client.post(f"{TEAMS}garden/name", {"team_name": "Orchard & <b>"})
    refused = Person(bob).client.post(f"{TEAMS}garden/name", {"team_name": "Bob's"})

    assert (changed.status_code, refused.status_code) == (303, 403)
    assert "Orchard &amp; &lt;b&gt;" in Person(bob).get(TEAMS).content.decode()
    assert f"{TEAMS}garden/name" not in Person(bob).get(TEAMS).content.decode()


def test_the_number_of_teams_a_person_owns_is_limited(alice: User) -> None:
    alices = Person(alice)
    for _ in range(MAX_OWNED - 1):
        assert alices.client.post(TEAMS, {"team_name": "Orchard"}).status_code == 303

    refused = alices.client.post(TEAMS, {"team_name": "Orchard"})

    assert refused.status_code == 422
    assert "as many teams as one person can" in text_of(refused)
