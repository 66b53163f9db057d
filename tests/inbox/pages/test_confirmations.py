"""A page asks before an action that cannot be undone, or that stops something that other people
use."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import Agent, Gate, Team, User
from inbox.models import Channel
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import CallerKey, Card
from tests.inbox.person import Person, text_of
from tests.types import MakeAnsweringRule, MakeRule
from wake.models import AnsweringRule, CallbackHost, Rule

Make = Callable[[], tuple[str, str, Callable[[], bool]]]


@pytest.fixture
def make(
    request: pytest.FixtureRequest,
    alice: User,
    team: Team,
    agent: Agent,
    allowed_host: str,
    make_rule: MakeRule,
    make_answering_rule: MakeAnsweringRule,
) -> Make:
    """Returns the address of a confirmation, a part of its text, and a check that the action was
    done."""

    def caller_key() -> tuple[str, str, Callable[[], bool]]:
        key, _ = callers.mint(team, name="Build server", by=SYSTEM)
        path = f"/agents/{agent.pk}/callers/{key.pk}/revoke"
        return path, "Revoke the key of Build server", _revoked(key)

    def gate() -> tuple[str, str, Callable[[], bool]]:
        row, _ = gates.issue(team, name="Deploys", agents=[agent], by=SYSTEM, at=timezone.now())
        path = f"/settings/gates/garden/{row.pk}/revoke"
        return path, "Revoke the key of Deploys", _revoked(row)

    def card() -> tuple[str, str, Callable[[], bool]]:
        publish(agent, by=SYSTEM, at=timezone.now())
        path = f"/agents/{agent.pk}/card/unpublish"
        return (
            path,
            "Callers can no longer reach it.",
            lambda: not Card.objects.published().exists(),
        )

    def rule() -> tuple[str, str, Callable[[], bool]]:
        row = make_rule(people=[alice])
        version = Team.objects.get(pk=team.pk).rules_version
        path = f"/settings/rules/garden/{row.pk}/remove?rules_version={version}"
        return path, "already assigned stay assigned", lambda: _is_removed(Rule, row.pk)

    def answering_rule() -> tuple[str, str, Callable[[], bool]]:
        row = make_answering_rule()
        path = f"/settings/rules/garden/answering/{row.pk}/remove?version=1"
        return path, "Its answers are kept.", lambda: _is_removed(AnsweringRule, row.pk)

    def channel() -> tuple[str, str, Callable[[], bool]]:
        row = Channel.objects.create(
            user=alice, kind="email", name="Mine", address="", created_at=timezone.now()
        )
        path = f"/settings/notifications/{row.pk}/remove"
        return path, "Remove the channel “Mine”", lambda: not Channel.objects.exists()

    def host() -> tuple[str, str, Callable[[], bool]]:
        path = f"/settings/allowlist/garden/remove?pattern={allowed_host}"
        return path, f"Remove {allowed_host}", lambda: not CallbackHost.objects.exists()

    makers = (caller_key, gate, card, rule, answering_rule, channel, host)
    return {maker.__name__: maker for maker in makers}[request.param]


def _revoked(key: CallerKey | Gate) -> Callable[[], bool]:
    return lambda: type(key).objects.get(pk=key.pk).revoked_at is not None


def _is_removed(model: type[Rule] | type[AnsweringRule], pk: UUID) -> bool:
    return model.objects.get(pk=pk).removed_at is not None


@pytest.mark.parametrize(
    "make",
    ["caller_key", "gate", "card", "rule", "answering_rule", "channel", "host"],
    indirect=True,
)
def test_a_page_asks_and_its_button_acts(alices: Person, make: Make) -> None:
    path, words, is_done = make()

    page = alices.get(path)

    assert words in text_of(page)
    assert "Cancel" in text_of(page)
    assert not is_done()
    address, _, query = path.partition("?")
    fields = dict(pair.split("=") for pair in query.split("&")) if query else {}
    for name, value in fields.items():
        assert f'name="{name}" value="{value}"' in page.content.decode()
    alices.client.post(address, fields, page=path)
    assert is_done()
