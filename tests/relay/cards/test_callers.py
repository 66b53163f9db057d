"""A caller without permission is refused before its body is read as JSON-RPC."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import ApiKey, Team, User
from relay.cards import callers
from relay.models import CallerKey, Card, Task
from tests.relay.calling import Caller

GET = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "none"}}


@pytest.fixture
def public(card: Card) -> Card:
    card.access = Card.Access.PUBLIC
    card.save(update_fields=["access"])
    return card


def status(card: Card, authorization: str = "", body: Any = GET) -> int:
    headers = {"Authorization": authorization} if authorization else {}
    response = Caller(card).post(body, **headers)
    if response.status_code == 401:
        assert response["WWW-Authenticate"].startswith("Bearer")
        assert response.json()["error"]["code"] == "unauthorized"
    caller_of: int = response.status_code
    return caller_of


def test_a_key_of_the_team_opens_its_agents(card: Card, caller_key: Any) -> None:
    assert status(card, f"Bearer {caller_key.text}") == 200
    assert status(card, f"bearer  {caller_key.text} ") == 200


@pytest.mark.parametrize("body", [GET, "no json", "", [], {}])
def test_without_a_key_nothing_is_readable(body: Any, card: Card) -> None:
    assert status(card, body=body) == 401
    assert not Task.objects.exists()


def test_an_invalid_key_is_refused(card: Card, caller_key: Any, key: ApiKey) -> None:
    text = caller_key.text
    wrong = [
        text,
        "Bearer",
        "Bearer ",
        f"Basic {text}",
        f"Bearer {text[:-1]}",
        f"Bearer {text[:-1]}{'A' if text[-1] != 'A' else 'B'}",
        f"Bearer wk_call_{'0' * 36}",
        f"Bearer {key.text}",  # type: ignore[attr-defined]
    ]

    assert [status(card, each) for each in wrong] == [401] * len(wrong)


def test_a_key_ends(card: Card, caller_key: Any, team: Team) -> None:
    at = timezone.now()
    _, ended = callers.mint(team, name="Ended", by=SYSTEM, expires_at=at - timedelta(seconds=1))
    _, lasting = callers.mint(team, name="Lasting", by=SYSTEM, expires_at=at + timedelta(days=1))

    callers.revoke(caller_key, by=SYSTEM, at=at)

    assert status(card, f"Bearer {caller_key.text}") == 401
    assert status(card, f"Bearer {ended}") == 401
    assert status(card, f"Bearer {lasting}") == 200


def test_a_key_of_another_team_opens_nothing(card: Card, mallory: User) -> None:
    _, text = callers.mint(Team.objects.get(slug="other"), name="Theirs", by=SYSTEM)

    assert status(card, f"Bearer {text}") == 403


def test_an_agent_may_name_its_callers(card: Card, caller_key: Any, team: Team) -> None:
    _, other = callers.mint(team, name="Somebody else", by=SYSTEM)
    card.access = Card.Access.ALLOWLIST
    card.save(update_fields=["access"])
    card.callers.add(caller_key)

    assert status(card, f"Bearer {caller_key.text}") == 200
    assert status(card, f"Bearer {other}") == 403
    assert status(card) == 401


def test_anyone_may_call_a_public_agent(public: Card) -> None:
    assert status(public) == 200


def test_a_bad_key_does_not_count_as_anonymous(public: Card) -> None:
    assert status(public, "Bearer wk_call_lost") == 401


def test_a_key_makes_tasks_its_own_on_a_public_agent(public: Card, caller_key: Any) -> None:
    mine = Caller(public, key=caller_key.text).send()["id"]
    nobodys = Caller(public).send()["id"]

    assert Task.objects.get(pk=mine).caller == caller_key
    assert Task.objects.get(pk=nobodys).caller is None
    assert Caller(public).error("GetTask", {"id": mine})["code"] == -32001
    assert Caller(public).result("GetTask", {"id": nobodys})["id"] == nobodys


def test_an_unpublished_agent_is_a_404(card: Card, caller_key: Any) -> None:
    card.enabled = False
    card.save(update_fields=["enabled"])

    assert status(card, f"Bearer {caller_key.text}") == 404


def test_last_use_is_recorded_once_a_minute(card: Card, caller_key: Any) -> None:
    at = timezone.now()

    callers.touch(caller_key, at=at)
    caller_key.refresh_from_db()
    callers.touch(caller_key, at=at + timedelta(seconds=59))
    callers.touch(CallerKey.objects.get(), at=at + timedelta(seconds=59))
    first = CallerKey.objects.get().last_used_at
    callers.touch(CallerKey.objects.get(), at=at + timedelta(seconds=61))

    assert first == at
    assert CallerKey.objects.get().last_used_at == at + timedelta(seconds=61)


def test_a_call_records_that_its_key_was_used(card: Card, caller_key: Any) -> None:
    status(card, f"Bearer {caller_key.text}")

    assert CallerKey.objects.get().last_used_at is not None


def test_bad_caller_keys_are_rate_limited(card: Card, caller_key: Any) -> None:
    tried = [status(card, "Bearer wk_call_guess") for _ in range(62)]
    response = Caller(card).post(GET, Authorization="Bearer wk_call_guess")

    assert tried == [401] * 60 + [429] * 2
    assert int(response["Retry-After"]) > 0
    assert response.json()["error"]["code"] == -32603
    assert status(card, f"Bearer {caller_key.text}") == 200


def test_calls_are_counted_by_key_and_without_one_by_network(
    public: Card, caller_key: Any, settings: Any
) -> None:
    settings.WAKE_READS_PER_MINUTE = 2

    with_key = [status(public, f"Bearer {caller_key.text}") for _ in range(3)]
    without = [status(public) for _ in range(3)]

    assert with_key == without == [200, 200, 429]
