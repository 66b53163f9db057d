"""The admin registers an agent and issues, rotates and revokes its keys; each secret is shown
once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.agents import keys, signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, SigningSecret, Team, User
from tests.fixtures.strict_client import Client

KEY = re.compile(r'value="(wk_(?:live|test)_[0-9A-Za-z]{36})"')
SECRET = re.compile(r'value="(whsec_[0-9A-Za-z+/=]+)"')
ANY_SECRET = re.compile(r"whsec_|wk_(?:live|test)_[0-9A-Za-z]{36}")
NO_ROWS = {"claimed_ids-TOTAL_FORMS": "0", "claimed_ids-INITIAL_FORMS": "0"}


def url(agent: Agent, action: str, *args: Any) -> str:
    return reverse(f"admin:accounts_agent_{action}", args=[agent.pk, *args])


def version(operator: Client, agent: Agent) -> str:
    """Returns the one-time token of the current page."""
    page = operator.get(url(agent, "change")).content.decode()
    match = re.search(r'name="version" value="([^"]+)"', page)
    assert match
    return match.group(1)


def text_matching(pattern: re.Pattern[str], answer: Any) -> str:
    assert answer.status_code == 200
    match = pattern.search(answer.content.decode())
    assert match, answer.content
    return match.group(1)


def issue(operator: Client, agent: Agent, mode: str = "live") -> str:
    form = {"version": version(operator, agent), "mode": mode}
    return text_matching(KEY, operator.post(url(agent, "issue_key"), form))


def works(key: str) -> bool:
    return keys.find(key, at=timezone.now()) is not None


def test_the_whole_life_of_a_key(operator: Client, team: Team) -> None:
    registered = operator.post(
        reverse("admin:accounts_agent_add"),
        {"team": team.pk, "agent_id": "ledger-clerk", **NO_ROWS},
    )
    agent = Agent.objects.get(agent_id="ledger-clerk")
    secret = text_matching(SECRET, registered)
    assert signing_secrets.secrets_of(agent.pk) == [secret]

    first = issue(operator, agent)
    answer = Client().get("/wake/v1/responses", headers={"Authorization": f"Bearer {first}"})
    assert answer.status_code == 200

    rotated = operator.post(
        url(agent, "rotate_key", agent.keys.get().pk),
        {"version": version(operator, agent), "overlap": "86400"},
    )
    second = text_matching(KEY, rotated)
    assert works(first)
    assert works(second)
    assert keys.find(first, at=timezone.now() + timedelta(hours=25)) is None
    assert keys.find(second, at=timezone.now() + timedelta(hours=25)) is not None

    for key in agent.keys.all():
        operator.post(url(agent, "revoke_key", key.pk))
    assert not works(first)
    assert not works(second)
    answer = Client().get("/wake/v1/responses", headers={"Authorization": f"Bearer {second}"})
    assert answer.status_code == 401


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_key_of_either_mode_is_issued(operator: Client, agent: Agent, mode: str) -> None:
    text = issue(operator, agent, mode)

    assert text.startswith(f"wk_{mode}_")
    assert agent.keys.get().mode == mode
    assert agent.keys.get().issued_by == "olga"


def test_the_page_with_the_key_is_never_stored(operator: Client, agent: Agent) -> None:
    form = {"version": version(operator, agent), "mode": "live"}
    answer = operator.post(url(agent, "issue_key"), form)

    assert "no-store" in answer["Cache-Control"]
    assert re.search(r"<input[^>]*readonly", answer.content.decode())
    assert "see it again" in answer.content.decode()


def test_a_reload_neither_issues_nor_shows_a_key_again(operator: Client, agent: Agent) -> None:
    form = {"version": version(operator, agent), "mode": "live"}
    first = operator.post(url(agent, "issue_key"), form)
    again = operator.post(url(agent, "issue_key"), form)
    opened = operator.get(url(agent, "issue_key"))

    assert text_matching(KEY, first)
    for answer in (again, opened):
        assert answer.status_code == 410
        assert "No longer visible" in answer.content.decode()
        assert not ANY_SECRET.search(answer.content.decode())
    assert agent.keys.count() == 1


def test_a_reload_does_not_rotate_a_key_twice(operator: Client, agent: Agent, key: ApiKey) -> None:
    form = {"version": version(operator, agent), "overlap": "3600"}
    operator.post(url(agent, "rotate_key", key.pk), form)
    again = operator.post(url(agent, "rotate_key", key.pk), form)

    assert again.status_code == 410
    assert agent.keys.count() == 2


def test_a_registration_sent_again_shows_no_secret(operator: Client, team: Team) -> None:
    form = {"team": team.pk, "agent_id": "ledger-clerk", **NO_ROWS}
    operator.post(reverse("admin:accounts_agent_add"), form)
    again = operator.post(reverse("admin:accounts_agent_add"), form)

    assert "already exists" in again.content.decode()
    assert "whsec_" not in again.content.decode()
    assert SigningSecret.objects.count() == 1


@pytest.mark.parametrize(
    ("overlap", "hours"), [("0", 0), ("3600", 1), ("86400", 24), ("604800", 168)]
)
def test_the_old_key_works_for_the_chosen_overlap(
    operator: Client, agent: Agent, key: ApiKey, overlap: str, hours: int
) -> None:
    before = timezone.now()
    form = {"version": version(operator, agent), "overlap": overlap}
    operator.post(url(agent, "rotate_key", key.pk), form)

    key.refresh_from_db()
    assert key.expires_at is not None
    assert timedelta(0) <= key.expires_at - before - timedelta(hours=hours) < timedelta(minutes=1)


def test_an_overlap_of_a_day_is_what_the_form_proposes(
    operator: Client, agent: Agent, key: ApiKey
) -> None:
    page = operator.get(url(agent, "change")).content.decode()

    assert '<option value="86400" selected>' in page


def test_an_expired_key_is_not_rotated(operator: Client, agent: Agent, key: ApiKey) -> None:
    operator.post(url(agent, "revoke_key", key.pk))
    form = {"version": version(operator, agent), "overlap": "0"}
    answer = operator.post(url(agent, "rotate_key", key.pk), form)

    assert answer.status_code == 404
    assert agent.keys.count() == 1


def test_another_agents_key_is_not_reached_through_this_one(
    operator: Client, agent: Agent, key: ApiKey
) -> None:
    other = Agent.objects.create(team=agent.team, agent_id="other")
    answer = operator.post(url(other, "revoke_key", key.pk))

    assert answer.status_code == 404
    assert works(key.text)  # type: ignore[attr-defined]


def test_a_signing_secret_is_rotated_and_then_switched(operator: Client, agent: Agent) -> None:
    [old] = signing_secrets.secrets_of(agent.pk)
    form = {"version": version(operator, agent)}
    new = text_matching(SECRET, operator.post(url(agent, "rotate_secret"), form))
    again = operator.post(url(agent, "rotate_secret"), form)
    assert again.status_code == 410
    assert signing_secrets.secrets_of(agent.pk) == [old, new]

    page = operator.post(url(agent, "switch_secret"), follow=True).content.decode()

    assert signing_secrets.secrets_of(agent.pk) == [new]
    assert "new secret now signs every header" in page


def test_pausing_and_resuming_twice_changes_nothing(operator: Client, agent: Agent) -> None:
    def paused_at() -> Any:
        return Agent.objects.values_list("paused_at", flat=True).get(pk=agent.pk)

    operator.post(url(agent, "pause"))
    first = paused_at()
    operator.post(url(agent, "pause"))
    assert first is not None
    assert paused_at() == first

    operator.post(url(agent, "resume"))
    operator.post(url(agent, "resume"))
    assert paused_at() is None
    events = AuditEvent.objects.filter(actor_kind="person").values_list("event", flat=True)
    assert sorted(events) == ["agent.paused", "agent.resumed"]


def test_a_rotation_under_way_is_ended_before_the_next(operator: Client, agent: Agent) -> None:
    operator.post(url(agent, "rotate_secret"), {"version": version(operator, agent)})

    form = {"version": version(operator, agent)}
    page = operator.post(url(agent, "rotate_secret"), form, follow=True).content.decode()

    assert "Retire the older one first" in page
    assert agent.signing_secrets.in_use().count() == 2


@pytest.mark.parametrize("action", ["pause", "resume", "switch_secret", "rotate_secret"])
def test_opening_an_action_does_nothing(operator: Client, agent: Agent, action: str) -> None:
    before = AuditEvent.objects.count()
    answer = operator.get(url(agent, action))

    assert answer.status_code == 410
    assert AuditEvent.objects.count() == before


def test_an_orchestrator_is_granted_other_ids(operator: Client, agent: Agent) -> None:
    def grant(pattern: str) -> Any:
        rows = {
            "claimed_ids-TOTAL_FORMS": "1",
            "claimed_ids-INITIAL_FORMS": "0",
            "claimed_ids-0-pattern": pattern,
        }
        return operator.post(url(agent, "change"), rows)

    assert "Use * only at the end" in grant("a*b").content.decode()
    assert "at least one character before *" in grant("*").content.decode()
    assert "at most 128 characters" in grant("\u0958" * 65).content.decode()
    assert grant("team-a/*").status_code == 302
    assert agent.may_claim("team-a/writer")
    assert not agent.may_claim("team-b/writer")
    assert AuditEvent.objects.get(event="claim.added").team_id == agent.team_id


def test_the_audit_names_the_person_and_their_address(
    operator: Client, olga: User, agent: Agent
) -> None:
    issue(operator, agent)
    operator.post(
        url(agent, "rotate_key", agent.keys.get().pk),
        {"version": version(operator, agent), "overlap": "0"},
    )
    operator.post(url(agent, "revoke_key", agent.keys.latest("created_at").pk))
    operator.post(url(agent, "rotate_secret"), {"version": version(operator, agent)})
    operator.post(url(agent, "switch_secret"))
    operator.post(url(agent, "pause"))
    operator.post(url(agent, "resume"))

    events = AuditEvent.objects.filter(actor_kind="person").order_by("pk")
    assert [event.event for event in events] == [
        "key.issued",
        "key.issued",
        "key.rotated",
        "key.revoked",
        "secret.rotated",
        "secret.switched",
        "agent.paused",
        "agent.resumed",
    ]
    assert {(event.actor_id, event.address, event.team_id) for event in events} == {
        (str(olga.pk), "127.0.0.1", agent.team_id)
    }


def test_more_keys_than_the_limit_are_refused_with_a_sentence(
    operator: Client, agent: Agent
) -> None:
    row, *_ = (keys.mint(agent, by=SYSTEM)[0] for _ in range(keys.MAX_USABLE))
    forms: list[tuple[str, dict[str, str]]] = [
        (url(agent, "issue_key"), {"mode": "live"}),
        (url(agent, "rotate_key", row.pk), {"overlap": "3600"}),
    ]

    for path, form in forms:
        page = operator.post(path, {"version": version(operator, agent), **form}, follow=True)
        assert "Revoke one that is no longer needed, then try again" in page.content.decode()

    row.refresh_from_db()
    assert row.expires_at is None
    assert agent.keys.count() == keys.MAX_USABLE
