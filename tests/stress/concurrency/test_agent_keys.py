"""If the same change of an agent's keys is requested several times at once, it happens once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from accounts.agents import credential_version, keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey, Membership, User
from tests.fixtures.strict_client import Client
from tests.stress.concurrency.threads import at_once


def posting(user: User, path: str, form: dict[str, Any]) -> Callable[[], int]:
    browser = Client()
    browser.force_login(user)
    return lambda: int(browser.post(path, form).status_code)


def test_of_two_concurrent_rotations_one_succeeds(alice: User, bob: User, key: ApiKey) -> None:
    Membership.objects.filter(user=bob).update(role=Membership.Role.OWNER)
    form = {"overlap": "86400", "days": "", "version": credential_version.current(key.agent)}
    path = f"/agents/{key.agent_id}/keys/{key.pk}/rotate/"

    answers = at_once(*[posting(owner, path, form) for owner in (alice, bob) for _ in range(3)])

    assert Counter(answers) == {200: 1, 410: 5}
    assert ApiKey.objects.count() == 2


def test_concurrent_registrations_make_one_agent(alice: User, key: ApiKey) -> None:
    form = {"team": key.agent.team_id, "agent_id": "writing-agent"}

    answers = at_once(*[posting(alice, "/agents/new/", form) for _ in range(4)])

    assert Counter(answers) == {200: 1, 410: 3}


def test_of_concurrent_requests_one_gets_the_last_key(key: ApiKey) -> None:
    for _ in range(keys.MAX_USABLE - 2):
        keys.mint(key.agent, by=SYSTEM)

    def issue() -> bool:
        try:
            keys.mint(key.agent, by=SYSTEM)
        except keys.TooManyKeys:
            return False
        return True

    assert at_once(*[issue] * 3).count(True) == 1
