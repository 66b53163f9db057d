"""An operator creates people and keys in a shell, and scripts can read the output."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.agents import keys
from accounts.agents.signing_secrets import secrets_of
from accounts.management import first_run
from accounts.models import Agent, ApiKey, AuditEvent, Membership, Team, User
from tests.fixtures.agent_client import AgentClient

pytestmark = pytest.mark.django_db


def manage(*words: str) -> tuple[str, str]:
    """Returns its stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def events() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.order_by("pk").values_list("event", "actor_kind"))


def test_a_new_agent_gets_a_team_a_secret_and_a_key() -> None:
    out, err = manage("issue_key", "research-01")

    key = keys.find(out.removesuffix("\n"), at=timezone.now())
    assert key is not None
    assert (key.agent.agent_id, key.agent.team.slug, key.mode) == ("research-01", "home", "live")
    assert secrets_of(key.agent_id)[0] in err
    assert events() == [
        ("team.added", "operator"),
        ("agent.registered", "operator"),
        ("secret.issued", "operator"),
        ("key.issued", "operator"),
    ]


def test_an_existing_agent_gets_another_key_and_keeps_its_secret(agent: Agent) -> None:
    before = secrets_of(agent.pk)

    out, err = manage("issue_key", agent.agent_id, "--team", "garden", "--test")

    key = keys.find(out.strip(), at=timezone.now())
    assert key is not None
    assert (key.agent, key.mode) == (agent, ApiKey.Mode.TEST)
    assert secrets_of(agent.pk) == before
    assert "whsec_" not in err
    assert events()[-1] == ("key.issued", "operator")


def test_json_output_has_everything_that_a_script_needs() -> None:
    first = json.loads(manage("issue_key", "research-01", "--team", "lab", "--json")[0])
    second = json.loads(manage("issue_key", "research-01", "--team", "lab", "--json")[0])

    assert list(first) == ["key", "signing_secret", "agent_id", "team"]
    assert (first["agent_id"], first["team"]) == ("research-01", "lab")
    assert first["signing_secret"].startswith("whsec_")
    assert second["signing_secret"] == first["signing_secret"]
    assert second["key"] != first["key"]
    assert Team.objects.count() == Agent.objects.count() == 1


def test_the_key_it_prints_delivers() -> None:
    out, _ = manage("issue_key", "research-01")
    key = keys.find(out.strip(), at=timezone.now())
    assert key is not None
    key.text = out.strip()  # type: ignore[attr-defined]

    assert AgentClient(key, "research-01").deliver()


def test_without_a_team_it_is_the_first_one(team: Team) -> None:
    Team.objects.create(slug="later", name="Later")

    printed = json.loads(manage("issue_key", "research-01", "--json")[0])

    assert printed["team"] == "garden"


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("issue_key", ""), "agent_id"),
        (("issue_key", "x" * 129), "agent_id"),
        (("issue_key", "two\nlines"), "agent_id"),
        (("issue_key", "research-01", "--team", "not a slug"), "slug"),
        (("add_person", "not an address"), "email"),
        (("add_person", "bob@example.com", "--team", "x" * 51), "slug"),
    ],
)
def test_invalid_input_is_refused_in_a_sentence_and_stores_nothing(
    words: tuple[str, ...], about: str
) -> None:
    with pytest.raises(CommandError, match=about):
        manage(*words)

    assert not Team.objects.exists()
    assert not AuditEvent.objects.exists()


def test_an_unreadable_secret_is_reported(agent: Agent, settings: Any) -> None:
    settings.WAKE_ENCRYPTION_KEYS = ["another-key-than-it-was-stored-with"]

    with pytest.raises(CommandError, match="WAKE_ENCRYPTION_KEYS"):
        manage("issue_key", agent.agent_id)

    assert not ApiKey.objects.exists()


def test_more_keys_than_the_limit_are_refused_in_a_sentence(agent: Agent) -> None:
    for _ in range(keys.MAX_USABLE):
        manage("issue_key", agent.agent_id)

    with pytest.raises(CommandError, match="Revoke one that is no longer needed, then try again"):
        manage("issue_key", agent.agent_id)

    assert ApiKey.objects.count() == keys.MAX_USABLE


def test_a_person_gets_a_generated_password_which_is_alone_on_stdout() -> None:
    out, err = manage("add_person", "Bob@Example.com", "--team", "lab", "--role", "reader")

    bob = User.objects.get()
    assert (bob.email, bob.display_name) == ("bob@example.com", "bob")
    assert bob.check_password(out.removesuffix("\n"))
    assert Membership.objects.get().role == Membership.Role.READER
    assert not bob.is_staff
    assert "bob@example.com is reader of Lab (lab)." in err
    assert events() == [
        ("team.added", "operator"),
        ("person.added", "operator"),
        ("membership.added", "operator"),
    ]


def test_a_password_that_was_given_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKE_PASSWORD", "as I said")

    out, err = manage("add_person", "bob@example.com")

    assert User.objects.get().check_password("as I said")
    assert out == ""
    assert "as I said" not in err


def test_in_production_a_password_that_was_given_must_be_a_good_one(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("WAKE_PASSWORD", "short")
    settings.PRODUCTION = True

    with pytest.raises(CommandError, match="too short"):
        call_command("add_person", "bob@example.com", skip_checks=True)

    assert not User.objects.exists()


def test_only_the_first_owner_may_enter_the_admin() -> None:
    manage("add_person", "rita@example.com", "--role", "reader")
    manage("add_person", "alice@example.com", "--role", "owner")
    manage("add_person", "bob@example.com", "--role", "owner")

    staff = User.objects.filter(is_staff=True, is_superuser=True)
    assert [person.email for person in staff] == ["alice@example.com"]


def test_a_superuser_belongs_to_no_team_and_is_audited() -> None:
    out, _ = manage("createsuperuser", "Alice@example.com")

    alice = User.objects.get(is_staff=True, is_superuser=True)
    assert alice.email == "alice@example.com"
    assert alice.check_password(out.strip())
    assert not alice.memberships.exists()
    event = AuditEvent.objects.get()
    assert (event.event, event.actor_kind, event.object_name) == (
        "person.added",
        "operator",
        "alice",
    )
    assert event.detail == {"is_superuser": True}


def test_a_command_does_not_make_an_existing_person_an_administrator(bob: User) -> None:
    with pytest.raises(CommandError, match="already exists"):
        call_command("createsuperuser", bob.email)

    bob.refresh_from_db()
    assert not bob.is_superuser


def test_an_existing_person_joins_another_team_and_keeps_their_password(bob: User) -> None:
    before = bob.password

    out, err = manage("add_person", bob.email, "--team", "lab", "--role", "owner")

    bob.refresh_from_db()
    assert bob.password == before
    assert out == ""
    assert "its password is unchanged" in err
    assert set(bob.memberships.values_list("team__slug", "role")) == {
        ("garden", "reviewer"),
        ("lab", "owner"),
    }


def test_the_same_again_changes_nothing_and_another_role_is_refused(bob: User) -> None:
    manage("add_person", bob.email, "--team", "garden")
    same = events()

    with pytest.raises(CommandError, match="another role"):
        manage("add_person", bob.email, "--team", "garden", "--role", "owner")

    assert same == events() == []
    assert Membership.objects.get().role == Membership.Role.REVIEWER


def test_the_first_run_happens_once() -> None:
    first = first_run.set_up(email="alice@example.com", password="a password")
    second = first_run.set_up(email="alice@example.com", password="another")

    assert first is not None
    key = keys.find(first.key, at=timezone.now())
    assert key is not None
    assert (key.agent.agent_id, key.agent.team.slug) == ("my-first-agent", "home")
    assert secrets_of(key.agent_id) == [first.signing_secret]
    assert User.objects.get().check_password("a password")
    assert Membership.objects.get().role == Membership.Role.OWNER
    assert second is None


def test_a_failed_first_run_leaves_nothing(settings: Any) -> None:
    settings.WAKE_ENCRYPTION_KEYS = []

    with pytest.raises(ValueError, match="MultiFernet"):
        first_run.set_up(email="alice@example.com", password="a password")

    assert not User.objects.exists()
    assert not Team.objects.exists()
