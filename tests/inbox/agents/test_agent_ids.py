"""Pages refuse ids and names that look like others, and name look-alike letters."""

from __future__ import annotations

import pytest

from accounts.models import Agent, ClaimedId, Team, User
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery

DECOMPOSED, COMPOSED = "Zoe\u0308", "Zo\u00eb"


@pytest.mark.parametrize(
    ("agent_id", "words"),
    [
        ("research-agent-O1", "This looks like your agent research-agent-01."),
        ("p\u0430yments", "Use letters of one script, not Latin and Cyrillic."),
        ("payments\u200b", "Invisible characters are not allowed here: payments⟨U+200B⟩"),
    ],
)
def test_an_owner_registers_no_look_alike(
    alices: Person, agent: Agent, agent_id: str, words: str
) -> None:
    form = {"team": agent.team_id, "agent_id": agent_id}

    answer = alices.client.post("/agents/new/", form)

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert Agent.objects.count() == 1


def test_an_id_of_another_script_is_welcome(alices: Person, team: Team) -> None:
    form = {"team": team.pk, "agent_id": "\u041c\u0430\u0440\u0438\u044f"}

    assert alices.client.post("/agents/new/", form).status_code == 200
    assert "letters⟩" not in text_of(alices.get("/agents/"))


def test_a_name_is_stored_composed_and_may_not_hide_characters(alices: Person, alice: User) -> None:
    zone = {"time_zone": "UTC"}

    alices.client.post("/settings/profile/", {"display_name": DECOMPOSED, **zone})
    hidden = alices.client.post("/settings/profile/", {"display_name": "Bob\u202e", **zone})

    alice.refresh_from_db()
    assert alice.display_name == COMPOSED
    assert hidden.status_code == 422
    assert "Invisible characters are not allowed here: Bob⟨U+202E⟩" in text_of(hidden)


def test_look_alike_letters_in_a_claimed_id_are_marked(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    ClaimedId.objects.create(agent=agent, pattern="p*")
    delivery = make_delivery(agent_id="p\u0430yments", provider="\u0441laude")

    page, listed = text_of(alices.see(delivery)), text_of(alices.get("/"))

    claim = f"{agent.agent_id} as p\u0430yments ⟨Cyrillic letters⟩"
    assert f"{claim} (\u0441laude ⟨Cyrillic letters⟩)" in page
    assert claim in listed
