"""Keys are minted, found, rotated and revoked (docs/reliability.md, Other promises)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM, person
from accounts.models import Agent, ApiKey, AuditEvent, Team, User
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from wake.models import Delivery


def test_a_key_is_found_by_its_text_and_kept_as_a_hash(key: ApiKey) -> None:
    text = key.text  # type: ignore[attr-defined]

    same_key = keys.find(text, at=timezone.now())

    assert same_key == key
    assert text not in str(ApiKey.objects.values().get())
    assert text not in str(list(AuditEvent.objects.values()))


@pytest.mark.parametrize("mode", ["live", "test"])
def test_a_key_names_its_mode_and_has_random_bits_and_a_checksum(agent: Agent, mode: str) -> None:
    """ "`wk_live_` and `wk_test_` keys: at least 160 random bits plus a checksum" """
    minted = [keys.mint(agent, by=SYSTEM, mode=mode) for _ in range(20)]

    for row, text in minted:
        assert re.fullmatch(rf"wk_{mode}_[0-9A-Za-z]{{36}}", text)
        assert row.mode == mode
        assert row.hint == f"{text[:12]}…{text[-4:]}"
    assert len({text[8:38] for _, text in minted}) == 20
    assert 62**30 > 2**160


def test_a_key_with_a_wrong_checksum_costs_no_query(
    key: ApiKey, django_assert_num_queries: Callable[..., Any]
) -> None:
    """ "Checksum first (junk costs no query)" """
    text = key.text  # type: ignore[attr-defined]
    swapped = text[:10] + text[11] + text[10] + text[12:]
    other_mode = text.replace("wk_live_", "wk_test_")
    wrong = ["", "wk_live_", text + "0", text[:-1], text.lower(), other_mode, text + "\n"]

    with django_assert_num_queries(0):
        assert [keys.find(each, at=timezone.now()) for each in wrong] == [None] * len(wrong)
        assert text[10] == text[11] or keys.find(swapped, at=timezone.now()) is None


def test_a_delivery_takes_one_query_to_find_the_key(
    key: ApiKey, django_assert_num_queries: Callable[..., Any]
) -> None:
    with django_assert_num_queries(1):
        same_key = keys.find(key.text, at=timezone.now())  # type: ignore[attr-defined]
        assert same_key is not None
        assert same_key.agent.agent_id == "research-agent-01"


def test_a_key_ends_when_it_expires(agent: Agent) -> None:
    at = timezone.now()
    _, text = keys.mint(agent, by=SYSTEM, expires_at=at)

    assert keys.find(text, at=at - timedelta(microseconds=1)) is not None
    assert keys.find(text, at=at) is None


def test_a_key_is_usable_by_the_same_rule_one_by_one_and_in_a_list(agent: Agent) -> None:
    at = timezone.now()
    for ends in (None, at, at + timedelta(seconds=1)):
        keys.mint(agent, by=SYSTEM, expires_at=ends)
    keys.revoke(keys.mint(agent, by=SYSTEM)[0], by=SYSTEM, at=at)

    usable = set(ApiKey.objects.usable(at))

    assert usable == {key for key in ApiKey.objects.all() if key.is_usable(at)}
    assert len(usable) == 2


def test_rotating_gives_a_new_key_and_ends_the_old_one_after_the_overlap(
    agent: Agent, alice: User
) -> None:
    """ "rotation with an overlap" """
    at = timezone.now()
    old, old_text = keys.mint(agent, by=SYSTEM, mode="test")

    new, new_text = keys.rotate(old, by=person(alice), overlap=timedelta(hours=1), at=at)

    assert (new.agent, new.mode, new.issued_by) == (agent, "test", "alice")
    assert keys.find(new_text, at=at + timedelta(days=365)) == new
    assert keys.find(old_text, at=at + timedelta(minutes=59)) == old
    assert keys.find(old_text, at=at + timedelta(hours=1)) is None
    event = AuditEvent.objects.get(event="key.rotated")
    assert (event.object_id, event.actor_name) == (str(old.pk), "alice")


def test_rotating_never_makes_a_key_live_longer(agent: Agent) -> None:
    """ "never past its own expiry" """
    at = timezone.now()
    old, text = keys.mint(agent, by=SYSTEM, expires_at=at + timedelta(minutes=1))

    keys.rotate(old, by=SYSTEM, overlap=timedelta(hours=1), at=at)

    detail = AuditEvent.objects.get(event="key.rotated").detail
    assert detail["until"] == (at + timedelta(minutes=1)).isoformat()
    assert detail["agent"] == agent.agent_id

    assert keys.find(text, at=at + timedelta(minutes=2)) is None


def test_an_agent_has_a_limited_number_of_keys(agent: Agent, team: Team) -> None:
    at = timezone.now()
    first, *_ = (keys.mint(agent, by=SYSTEM)[0] for _ in range(keys.MAX_USABLE))

    with pytest.raises(keys.TooManyKeys, match=f"{keys.MAX_USABLE} usable keys"):
        keys.mint(agent, by=SYSTEM)
    with pytest.raises(keys.TooManyKeys):
        keys.rotate(first, by=SYSTEM, overlap=timedelta(hours=1), at=at)
    first.refresh_from_db()

    assert first.expires_at is None
    assert agent.keys.count() == keys.MAX_USABLE
    assert keys.mint(Agent.objects.create(team=team, agent_id="another"), by=SYSTEM)


def test_a_revoked_key_makes_room_for_another(agent: Agent) -> None:
    first, second, *_ = (keys.mint(agent, by=SYSTEM)[0] for _ in range(keys.MAX_USABLE))

    keys.rotate(first, by=SYSTEM, overlap=timedelta(), at=timezone.now())
    keys.revoke(second, by=SYSTEM, at=timezone.now())

    assert keys.mint(agent, by=SYSTEM)
    assert agent.keys.count() == keys.MAX_USABLE + 2


def test_revoking_is_immediate_and_final(key: ApiKey, caller: AgentClient) -> None:
    """ "revocation bites within a second" """
    at = timezone.now()
    assert caller.get("responses").status_code == 200

    keys.revoke(key, by=SYSTEM, at=at)
    keys.revoke(key, by=SYSTEM, at=at + timedelta(days=1))

    assert caller.get("responses").status_code == 401
    key.refresh_from_db()
    assert key.revoked_at == at
    assert AuditEvent.objects.filter(event="key.revoked").count() == 1


def test_a_key_revoked_after_it_was_found_delivers_nothing(
    key: ApiKey, caller: AgentClient
) -> None:
    """The key is revoked after the request has passed authentication."""

    def revoke() -> None:
        keys.revoke(key, by=SYSTEM, at=timezone.now())

    with wrapped.after(keys, "remembered", revoke):
        answer = caller.post(caller.payload())

    error_of(answer, 401, "unauthorized")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("ends", ["revoked", "expired"])
def test_a_remembered_key_that_has_ended_reads_nothing(
    key: ApiKey, caller: AgentClient, ends: str
) -> None:
    pk = caller.deliver()
    paths = [f"response/{pk}", "responses", "responses?since=9999-01-01T00:00:00Z", "response/17"]
    assert [caller.get(path).status_code for path in paths] == [200, 200, 200, 404]

    # Ends the key without keys.revoke(), as if another process had revoked the key, or the key had
    # expired.
    past = timezone.now() - timedelta(seconds=1)
    ApiKey.objects.filter(pk=key.pk).update(**{f"{ends}_at".replace("expired", "expires"): past})

    assert [caller.get(path).status_code for path in paths] == [401] * 4


def test_a_remembered_key_costs_a_poll_one_statement_and_a_sweep_two(
    caller: AgentClient, django_assert_num_queries: Any
) -> None:
    pk = caller.deliver()
    caller.poll(pk)

    with django_assert_num_queries(1):
        caller.poll(pk)
    with django_assert_num_queries(2):
        caller.sweep()


class _With:
    """Describes a module with these functions."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)


def test_last_use_is_recorded_at_most_once_a_minute(key: ApiKey) -> None:
    """ "`last_used_at` written at most once a minute" """
    at = timezone.now()

    def used(seconds: float) -> float:
        keys.touch(ApiKey.objects.get(), at=at + timedelta(seconds=seconds))
        used_at = ApiKey.objects.get().last_used_at
        assert used_at is not None
        return (used_at - at).total_seconds()

    assert [used(seconds) for seconds in (0, 1, 60, 60.1, 61, 121)] == [0, 0, 0, 60.1, 60.1, 121]


def test_a_poll_records_its_key(caller: AgentClient) -> None:
    caller.get("responses")

    assert ApiKey.objects.get().last_used_at is not None


def test_issuing_is_in_the_audit(agent: Agent, alice: User) -> None:
    key, text = keys.mint(agent, by=person(alice, "192.0.2.7"))

    event = AuditEvent.objects.get(event="key.issued", object_id=str(key.pk))
    assert (event.actor_name, event.address, event.team_id) == ("alice", "192.0.2.7", agent.team_id)
    assert event.detail == {"agent": "research-agent-01", "lane": "live"}
    assert str(key) == key.hint
    assert text not in str(event.__dict__)
