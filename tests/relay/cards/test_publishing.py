"""Owners publish agents, change their cards and unpublish them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.audit.sentences import sentence
from accounts.models import Agent, AuditEvent, Team, User
from inbox.audit.lines import link
from relay.cards import callers
from relay.cards.publishing import DoesNotFit, publish, unpublish
from relay.models import CallerKey, Card

NOW = timezone.now()


def events() -> list[str]:
    """Returns the events in plain words, without those of the agent itself."""
    rows = AuditEvent.objects.filter(object_kind__in=["card", "callerkey"]).order_by("pk")
    return [sentence(event) for event in rows]


def test_publishing_makes_a_card_and_is_in_the_audit(agent: Agent) -> None:
    card = publish(agent, by=SYSTEM, at=NOW, access="public", description="Compares.")

    assert (card.enabled, card.access, card.version) == (True, "public", "1.0.0")
    assert events() == ["Wake published an agent: anyone can call it"]
    event = AuditEvent.objects.get(event="card.published")
    assert (event.team_id, event.object_name) == (agent.team_id, "@garden/research-agent-01")
    assert link(event) == f"/agents/{agent.pk}/"


def test_fields_that_are_not_given_stay(agent: Agent) -> None:
    publish(agent, by=SYSTEM, at=NOW, access="public", description="Compares.")

    card = publish(agent, by=SYSTEM, at=NOW, reply_policy="any")

    assert (card.access, card.description, card.reply_policy) == ("public", "Compares.", "any")


@pytest.mark.parametrize(
    ("version", "following"),
    [("1.0.0", "1.0.1"), ("2.9", "2.10"), ("2026-spring", "2026-spring.1"), ("v7", "v8")],
)
def test_the_version_is_raised_when_the_card_changes(
    agent: Agent, version: str, following: str
) -> None:
    publish(agent, by=SYSTEM, at=NOW, version=version)

    card = publish(agent, by=SYSTEM, at=NOW, description="Now it compares, too.")

    assert card.version == following
    assert events()[-1] == "Wake changed an agent's card: description, version"


def test_the_version_stays_when_a_hidden_field_changes(agent: Agent) -> None:
    publish(agent, by=SYSTEM, at=NOW)

    card = publish(agent, by=SYSTEM, at=NOW, timeout_seconds=60)

    assert (card.timeout_seconds, card.version) == (60, "1.0.0")


def test_the_version_stays_as_a_person_set_it(agent: Agent) -> None:
    publish(agent, by=SYSTEM, at=NOW)

    card = publish(agent, by=SYSTEM, at=NOW, description="Rewritten.", version="2.0.0")

    assert card.version == "2.0.0"


def test_publishing_the_same_again_changes_nothing(agent: Agent) -> None:
    publish(agent, by=SYSTEM, at=NOW, description="Compares.")

    card = publish(agent, by=SYSTEM, at=NOW + timedelta(hours=1), description="Compares.")

    assert card.updated_at == NOW
    assert len(events()) == 1


def test_the_audit_shows_who_may_call(agent: Agent, caller_key: CallerKey) -> None:
    publish(agent, by=SYSTEM, at=NOW)

    publish(agent, by=SYSTEM, at=NOW, access="allowlist", callers=[caller_key])

    event = AuditEvent.objects.get(event="card.changed")
    assert event.detail["callers"] == ["Build server"]
    assert sentence(event) == (
        "Wake changed an agent's card: access, callers; selected caller keys can call it now"
    )


def test_an_agent_can_be_unpublished_and_published_again(agent: Agent) -> None:
    card = publish(agent, by=SYSTEM, at=NOW, description="Compares.")

    unpublish(card, by=SYSTEM, at=NOW)
    unpublish(card, by=SYSTEM, at=NOW)
    assert not Card.objects.published().exists()
    again = publish(agent, by=SYSTEM, at=NOW)

    assert (again.enabled, again.description) == (True, "Compares.")
    assert [event.partition(" ")[2] for event in events()] == [
        "published an agent: anyone with a caller key can call it",
        "unpublished an agent",
        "published an agent: anyone with a caller key can call it",
    ]


@pytest.mark.parametrize("agent_id", ["team/agent", "a b", ".well-known", "ümlaut", "a?b", "a%2Fb"])
def test_an_id_that_does_not_fit_a_path_is_not_published(team: Team, agent_id: str) -> None:
    agent = Agent.objects.create(team=team, agent_id=agent_id)

    with pytest.raises(DoesNotFit):
        publish(agent, by=SYSTEM, at=NOW)

    assert not Card.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [{"access": "nobody"}, {"input_modes": ["text"]}, {"version": "1\n0"}, {"profile": "2.0"}],
)
def test_an_invalid_card_is_refused(agent: Agent, wrong: dict[str, Any]) -> None:
    publish(agent, by=SYSTEM, at=NOW)

    with pytest.raises(ValidationError):
        publish(agent, by=SYSTEM, at=NOW, **wrong)

    assert Card.objects.get().version == "1.0.0"
    assert len(events()) == 1


def test_at_most_one_card_is_the_hosts(agent: Agent, mallory: User) -> None:
    theirs = Agent.objects.create(team=mallory.teams.get(), agent_id="theirs")
    publish(theirs, by=SYSTEM, at=NOW, is_root=True)

    publish(agent, by=SYSTEM, at=NOW, is_root=True)

    assert [str(card) for card in Card.objects.at_root()] == ["@garden/research-agent-01"]
    stepped_back = AuditEvent.objects.get(event="card.changed")
    assert (stepped_back.object_name, stepped_back.detail["changed"]) == (
        "@other/theirs",
        ["is_root"],
    )


# Caller keys --------------------------------------------------------------------------------------


def test_a_caller_key_is_stored_as_its_hash_alone(team: Team) -> None:
    key, text = callers.mint(team, name="Build server", by=SYSTEM)

    assert text.startswith("wk_call_")
    assert len(text) == 44
    stored = str(list(CallerKey.objects.values()))
    assert text not in stored
    assert key.hint in stored
    assert events() == ["Wake created a caller key"]


def test_a_caller_key_is_revoked_once(caller_key: CallerKey) -> None:
    callers.revoke(caller_key, by=SYSTEM, at=NOW)
    callers.revoke(caller_key, by=SYSTEM, at=NOW + timedelta(hours=1))

    caller_key.refresh_from_db()
    assert caller_key.revoked_at == NOW
    assert events() == ["Wake created a caller key", "Wake revoked a caller key"]


@pytest.mark.parametrize("name", ["", "two\nlines", "x" * 81])
def test_a_caller_has_a_name_on_one_line(team: Team, name: str) -> None:
    with pytest.raises(ValidationError):
        callers.mint(team, name=name, by=SYSTEM)

    assert not CallerKey.objects.exists()


# From the command line ----------------------------------------------------------------------------


def test_a_new_agent_is_registered_and_published_with_one_command(
    team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("publish_agent", "conductor", "--description", "Deploys.")

    card = Card.objects.at("garden", "conductor").get()
    assert (card.description, card.access) == ("Deploys.", "key")
    assert card.agent.signing_secrets.exists()
    out = capsys.readouterr().out
    assert "http://127.0.0.1:8000/@garden/conductor/.well-known/agent-card.json\n" in out
    assert "Endpoint: http://127.0.0.1:8000/@garden/conductor/\n" in out
    assert "conductor is new in Garden (garden)." in out
    assert "issue_caller_key" in out


def test_an_agent_is_published_before_its_addresses_are_printed(team: Team) -> None:
    """The print fails as if the program that reads the pipe had ended."""

    class Closed:
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        call_command("publish_agent", "conductor", stdout=Closed())

    assert Card.objects.at("garden", "conductor").exists()


def test_the_command_sets_every_option_of_the_card(team: Team) -> None:
    call_command(
        "publish_agent",
        *("tck", "--team", "kit", "--public", "--input-mode", "*/*", "--input-mode", "text/plain"),
        *("--reply-policy", "any", "--card-profile", "1.0", "--root"),
    )

    card = Card.objects.at("kit", "tck").get()
    assert (card.access, card.reply_policy, card.profile) == ("public", "any", "1.0")
    assert card.input_modes == ["*/*", "text/plain"]
    assert card.is_root


def test_the_command_sets_skills_output_modes_and_limits(team: Team, tmp_path: Path) -> None:
    skill = {"id": "dig", "name": "Dig", "description": "Digs.", "tags": ["garden"]}
    file = tmp_path / "skills.json"
    file.write_text(json.dumps([skill | {"examples": None, "later": 1}]))

    call_command(
        "publish_agent",
        *("conductor", "--skills", str(file), "--output-mode", "text/markdown"),
        *("--timeout", "60", "--max-concurrency", "9"),
    )

    card = Card.objects.get()
    assert card.skills == [skill]
    assert (card.timeout_seconds, card.max_concurrency) == (60, 9)
    assert card.output_modes == ["text/markdown"]


@pytest.mark.parametrize(("option", "most"), [("--timeout", 86_400), ("--max-concurrency", 100)])
def test_a_limit_outside_its_range_is_refused(option: str, most: int, team: Team) -> None:
    for number in (0, most + 1):
        with pytest.raises(CommandError, match=f"{option} must be from 1 to {most}."):
            call_command("publish_agent", "conductor", option, str(number))

    assert not Card.objects.exists()


@pytest.mark.parametrize(
    ("skills", "reason"),
    [
        ("[", "is not JSON"),
        ("{}", "Must be an array"),
        ('[{"id": "dig"}]', r"\[0\].tags: Must have at least one"),
        ('[{"tags": ["a"]}]', r"\[0\].id: Must be a string"),
    ],
)
def test_unreadable_skills_are_refused_in_a_sentence(
    skills: str, reason: str, team: Team, tmp_path: Path
) -> None:
    file = tmp_path / "skills.json"
    file.write_text(skills)

    with pytest.raises(CommandError, match=reason):
        call_command("publish_agent", "conductor", "--skills", str(file))

    assert not Card.objects.exists()


def test_no_public_removes_anonymous_access_only(team: Team) -> None:
    call_command("publish_agent", "conductor", "--public")
    call_command("publish_agent", "conductor", "--no-public")
    key_needed = Card.objects.get().access
    Card.objects.update(access=Card.Access.ALLOWLIST)
    call_command("publish_agent", "conductor", "--no-public")

    assert (key_needed, Card.objects.get().access) == ("key", "allowlist")


def test_root_names_the_agent_that_it_replaces(
    team: Team, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("publish_agent", "conductor", "--root")
    first = capsys.readouterr().out
    call_command("publish_agent", "gardener", "--root")
    second = capsys.readouterr().out
    call_command("publish_agent", "gardener", "--no-root")

    assert "replaces" not in first
    assert "Its card replaces that of @garden/conductor at the host's root." in second
    assert not Card.objects.at_root().exists()


def test_an_agent_is_unpublished_from_the_command_line(
    card: Card, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("unpublish_agent", card.agent.agent_id)

    assert "@garden/research-agent-01 is not published any more." in capsys.readouterr().out
    assert not Card.objects.published().exists()
    with pytest.raises(CommandError, match="is not published"):
        call_command("unpublish_agent", card.agent.agent_id)


def test_run_again_the_command_changes_only_what_it_names(team: Team) -> None:
    call_command("publish_agent", "conductor", "--public", "--description", "Deploys.")

    call_command("publish_agent", "conductor", "--reply-policy", "caller")

    card = Card.objects.get()
    assert (card.access, card.description) == ("public", "Deploys.")
    assert card.reply_policy == "caller"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(["a b"], "letters, digits"), (["fine", "--input-mode", "text"], "^text is not a media type")],
)
def test_an_agent_that_cannot_be_published_is_not_registered(
    team: Team, arguments: list[str], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("publish_agent", *arguments)

    assert not Agent.objects.exists()


def test_a_caller_key_alone_is_on_stdout(team: Team, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("issue_caller_key", "Build server")

    output = capsys.readouterr()
    key = callers.find(output.out.strip(), at=NOW)
    assert key is not None
    assert (key.name, key.team, key.issued_by) == ("Build server", team, "Operator")
    assert output.out.count("\n") == 1
    assert "shown only once" in output.err


def test_a_caller_key_can_be_put_on_the_lists_of_agents(
    card: Card, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(card.agent, by=SYSTEM, at=NOW, access="allowlist")

    call_command("issue_caller_key", "Build server", "--agent", "research-agent-01", "--json")

    output = json.loads(capsys.readouterr().out)
    assert (output["name"], output["team"]) == ("Build server", "garden")
    key = callers.find(output["key"], at=NOW)
    assert key == CallerKey.objects.get(pk=output["id"])
    card.refresh_from_db()
    assert card.accepts(key)
    assert not card.accepts(None)


def test_an_allowlist_without_effect_is_mentioned(
    card: Card, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("issue_caller_key", "Build server", "--agent", "research-agent-01")

    assert "research-agent-01 accepts other callers, too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["CI", "--team", "nobody"], "There is no team 'nobody'"),
        (["CI", "--agent", "unknown"], "unknown is not published"),
        (["two\nlines"], "Control characters"),
    ],
)
def test_an_invalid_caller_key_is_refused_with_the_reason(
    team: Team, arguments: list[str], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("issue_caller_key", *arguments)

    assert not CallerKey.objects.exists()
