"""An agent's id distinguishes the agent from the other agents of the team."""

from __future__ import annotations

import io
import re

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from accounts.agents import aliases
from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from pages.characters.look_alikes import foreign_scripts, label_look, look, mixes_scripts
from tests.fixtures.agent_client import AgentClient
from wake.models import Delivery

CYRILLIC = "\u0440\u0430\u0443\u0440\u0430"  # looks like paypa
COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("paypa", CYRILLIC),
        ("payments-1", "payments-l"),
        ("payments-I", "payments-l"),
        ("bot-0", "bot-O"),
        ("modern", "modem"),
        ("first", "\ufb01rst"),
        ("web", "vveb"),
        ("\u039f\u03a1\u0391", "OPA"),
        ("deploy-bot", "deploy\u2010bot"),
        ("deploy-bot", "deploy\u2011bot"),
        ("deploy-bot", "deploy\u2212bot"),
        ("deploy bot", "deploy  bot"),
        ("deploy bot", "deploy\u2800bot"),
        ("a/b:c_d", "a\u2044b\ua789c\u02cdd"),
        ("bob's", "bob\u2019s"),
        ("\u2764", "\u2764\ufe0f"),
        (COMPOSED, DECOMPOSED),
    ],
)
def test_ids_that_look_the_same_are_the_same_to_people(one: str, other: str) -> None:
    assert look(one) == look(other)


@pytest.mark.parametrize("pair", ["agent-1 agent-2", "alpha alfa", "agent Agent", "caf\u00e9 cafe"])
def test_ids_that_can_be_told_apart_differ(pair: str) -> None:
    one, other = pair.split()

    assert look(one) != look(other)


@pytest.mark.parametrize(
    ("text", "is_mixed", "foreign"),
    [
        ("research-agent-01", False, []),
        ("p\u0430yments", True, ["Cyrillic"]),
        (CYRILLIC, False, ["Cyrillic"]),
        ("\u041c\u0430\u0440\u0438\u044f", False, []),
        ("\u7814\u7a76\u30a8-agent", False, []),
        ("\u03b1\u0431", True, []),
        ("O\u2019Brien", False, []),
        (COMPOSED, False, []),
    ],
)
def test_scripts_that_no_language_mixes_are_noticed(
    text: str, is_mixed: bool, foreign: list[str]
) -> None:
    assert mixes_scripts(text) == is_mixed
    assert foreign_scripts(text) == foreign


@pytest.mark.parametrize(
    ("agent_id", "words"),
    [
        ("research-agent-O1", "looks like your agent research-agent-01"),
        ("research-\u0430gent", "letters of one script, not Latin and Cyrillic"),
        ("research\u2011agent-01", "looks like your agent research-agent-01"),
        ("research\u200b-agent-01", "Invisible characters are not allowed here: research⟨U+200B⟩"),
        ("research-agent-01\ufe0f", "Invisible characters are not allowed here"),
        ("research-agent-01\U0001d173", "Invisible characters are not allowed here"),
        ("\u3164", "at least one character that people can see"),
    ],
)
def test_the_command_registers_no_look_alike(agent: Agent, agent_id: str, words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        call_command("issue_key", agent_id, "--team", agent.team.slug, stdout=io.StringIO())

    assert Agent.objects.count() == 1


def test_another_team_may_have_an_agent_that_looks_the_same(agent: Agent) -> None:
    other = Team.objects.create(slug="other", name="Other")

    Agent(team=other, agent_id="research-agent-O1").full_clean()


def test_an_existing_look_alike_keeps_working(agent: Agent, caller: AgentClient) -> None:
    old = Agent.objects.create(team=agent.team, agent_id="research-agent-O1")

    old.full_clean()
    call_command("issue_key", old.agent_id, "--team", agent.team.slug, stdout=io.StringIO())

    assert old.keys.count() == 1
    assert caller.post(caller.payload()).status_code == 201


@pytest.mark.parametrize(("stored", "sent"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
def test_an_id_is_the_same_composed_and_decomposed(
    agent: Agent, caller: AgentClient, stored: str, sent: str
) -> None:
    Agent.objects.filter(pk=agent.pk).update(agent_id=stored)

    assert caller.post(caller.payload(agent_id=sent)).status_code == 201
    assert Delivery.objects.get().claimed_agent_id == COMPOSED


def test_the_command_finds_a_composed_id_by_a_decomposed_one(team: Team) -> None:
    for agent_id in (DECOMPOSED, COMPOSED, DECOMPOSED):
        call_command("issue_key", agent_id, "--team", team.slug, stdout=io.StringIO())

    assert Agent.objects.get().agent_id == COMPOSED


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("writing-agent-O2", "This looks like your agent writing-agent-02."),
        ("cr\u0435w-*", "Use letters of one script"),
        ("crew\u200b-*", "Invisible characters are not allowed here: crew⟨U\\+200B⟩"),
    ],
)
def test_an_alias_looks_like_no_other_agent(
    agent: Agent, others: AgentClient, pattern: str, words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        aliases.grant(agent, pattern, by=SYSTEM)


@pytest.mark.parametrize("pattern", ["\u0958" * 65, "x" * 129])
def test_an_alias_that_is_too_long_in_nfc_is_refused(agent: Agent, pattern: str) -> None:
    with pytest.raises(ValidationError, match="at most 128 characters"):
        aliases.grant(agent, pattern, by=SYSTEM)


@pytest.mark.parametrize("name", ["\u0958" * 65, "x" * 129])
def test_names_that_are_too_long_in_nfc_are_refused(team: Team, name: str) -> None:
    """PostgreSQL used to refuse such names with an error, and SQLite used to store them."""
    rows = [
        Agent(team=team, agent_id=name),
        Team(slug="far", name=name),
        User(email="zoe@example.com", display_name=name),
    ]

    for row, field in zip(rows, ["agent_id", "name", "display_name"], strict=True):
        with pytest.raises(ValidationError) as refused:
            row.full_clean(exclude=["password"])

        assert list(refused.value.message_dict) == [field]
        assert len(refused.value.message_dict[field]) == 1


def test_names_of_people_and_teams_are_composed(team: Team) -> None:
    zoe = User(email="zoe@example.com", display_name=f"Zoe\u0308 {DECOMPOSED}")
    team.name = DECOMPOSED

    zoe.clean()
    team.clean()

    assert zoe.display_name == f"Zo\u00eb {COMPOSED}"
    assert team.name == COMPOSED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("amount_due", "Amount due"),
        ("amount-due", "AMOUNT  DUE"),
        ("return", "RETURN"),
        ("RETURN", "retum"),
        ("\u0410mount", "amount"),
        ("x" * 300 + "\u0430", "X" * 300 + "A"),
    ],
)
def test_labels_look_the_same_without_case_and_separators(one: str, other: str) -> None:
    assert label_look(one) == label_look(other)
