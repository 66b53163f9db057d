""" "A key belongs to one agent; an agent to one team. `agent_id` in the payload is a claim."
(docs/protocol.md, Identity)"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, ClaimedId, Team
from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from wake.models import Delivery

COMPOSED, DECOMPOSED = "caf\u00e9-agent", "cafe\u0301-agent"


def caller_with(agent: Agent, mode: str = "live") -> AgentClient:
    row, text = keys.mint(agent, by=SYSTEM, mode=mode)
    row.text = text  # type: ignore[attr-defined]
    return AgentClient(row, agent.agent_id)


@pytest.mark.parametrize("claimed", ["helper-1", "crew-", "crew-7", "crew-\U0001f389"])
def test_an_orchestrator_delivers_under_its_aliases(
    caller: AgentClient, agent: Agent, claimed: str
) -> None:
    """ "it must be the agent's own id, or match one of the ids or prefixes that a human granted to
    that agent (an orchestrator)" """
    ClaimedId.objects.create(agent=agent, pattern="helper-1")
    ClaimedId.objects.create(agent=agent, pattern="crew-*")

    caller.deliver(agent_id=claimed)

    delivery = Delivery.objects.get()
    assert (delivery.agent, delivery.claimed_agent_id) == (agent, claimed)


@pytest.mark.parametrize(
    "claimed",
    ["helper-10", "helper", "Helper-1", "crew", "Crew-7", "xcrew-7", "crew*", "a.c", "abc", "%"],
)
def test_an_orchestrator_delivers_under_no_other_id(
    caller: AgentClient, agent: Agent, claimed: str
) -> None:
    """ "Otherwise 403." """
    for pattern in ["helper-1", "crew-*", "a*c", "_%"]:
        ClaimedId.objects.create(agent=agent, pattern=pattern)

    error_of(caller.post(caller.payload(agent_id=claimed)), 403, "agent_mismatch")

    assert not Delivery.objects.exists()


def test_an_id_that_is_too_long_in_nfc_is_refused(caller: AgentClient, agent: Agent) -> None:
    """NFC turns U+0958 into two characters. So an id of 121 characters became 241, which PostgreSQL
    refused, and the agent got a 500."""
    ClaimedId.objects.create(agent=agent, pattern="x*")

    answer = caller.post(caller.payload(agent_id="x" + "\u0958" * 120))

    assert error_of(answer, 422, "invalid_field")["fields"][0]["code"] == "max_length"
    assert not Delivery.objects.exists()
    caller.deliver(agent_id="x" + "\u0958" * 63)


def test_an_alias_belongs_to_one_agent(
    caller: AgentClient, agent: Agent, others: AgentClient
) -> None:
    ClaimedId.objects.create(agent=agent, pattern="*")

    error_of(others.post(others.payload(agent_id="helper-1")), 403, "agent_mismatch")


def test_a_delivery_belongs_to_the_agent_whose_key_delivered_it(
    caller: AgentClient, agent: Agent, others: AgentClient
) -> None:
    """ "lock, cursor and reads are that agent's; a claimed id only labels and filters" """
    ClaimedId.objects.create(agent=agent, pattern=others.agent_id)

    pk = caller.deliver(agent_id=others.agent_id)

    assert caller.poll(pk)["status"] == "pending"
    assert others.get(f"response/{pk}").status_code == 404
    assert others.sweep()["deliveries"] == []
    assert others.sweep(agent_id=others.agent_id)["deliveries"] == []


def test_the_bulk_filter_is_the_claimed_id(caller: AgentClient, agent: Agent) -> None:
    """ "agent_id | ... Filter to deliveries from a specific agent." """
    ClaimedId.objects.create(agent=agent, pattern="crew-*")
    own, first = caller.deliver(), caller.deliver(agent_id="crew-1")
    caller.deliver(agent_id="crew-2")

    def ids(**query: Any) -> list[str]:
        return [item["delivery_id"] for item in caller.sweep(**query)["deliveries"]]

    assert ids(agent_id=agent.agent_id) == [own]
    assert ids(agent_id="crew-1") == [first]
    assert len(ids()) == 3


@pytest.mark.parametrize("sent", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("asked", [COMPOSED, DECOMPOSED])
def test_the_bulk_filter_finds_an_id_composed_and_decomposed(
    caller: AgentClient, agent: Agent, sent: str, asked: str
) -> None:
    """ "it is compared and stored in Unicode NFC" """
    ClaimedId.objects.create(agent=agent, pattern=COMPOSED)
    pk = caller.deliver(agent_id=sent)

    assert [item["delivery_id"] for item in caller.sweep(agent_id=asked)["deliveries"]] == [pk]


@pytest.mark.parametrize("theirs", ["writing-agent-02", "nobody", "", "crew-*", "%", "x" * 5000])
def test_a_bulk_filter_by_a_foreign_id_is_an_empty_list(
    caller: AgentClient, others: AgentClient, theirs: str
) -> None:
    """ "A bulk `agent_id` that is not yours is an empty list, not an error." """
    others.deliver()
    caller.deliver()

    answer = caller.get("responses", agent_id=theirs)

    assert answer.status_code == 200
    assert answer.json() == {"deliveries": [], "total": 0, "has_more": False, "next_since": None}


def test_another_team_may_have_an_agent_of_the_same_id(caller: AgentClient) -> None:
    team = Team.objects.create(slug="far", name="Far")
    namesake = caller_with(Agent.objects.create(team=team, agent_id=caller.agent_id))
    pk = caller.deliver()

    assert namesake.get(f"response/{pk}").status_code == 404
    assert namesake.sweep(agent_id=caller.agent_id)["deliveries"] == []


def test_the_modes_are_separate(caller: AgentClient, in_test_mode: AgentClient) -> None:
    """ "Scope of reads is the agent and the key's lane (live or test)" """
    live, test = caller.deliver(), in_test_mode.deliver()

    assert caller.get(f"response/{test}").status_code == 404
    assert in_test_mode.get(f"response/{live}").status_code == 404
    assert [item["delivery_id"] for item in caller.sweep()["deliveries"]] == [live]
    assert [item["delivery_id"] for item in in_test_mode.sweep()["deliveries"]] == [test]
    assert Delivery.objects.get(pk=test).mode == "test"


def test_the_modes_do_not_share_idempotency_keys(
    caller: AgentClient, in_test_mode: AgentClient
) -> None:
    """If a test run used the same Idempotency-Key first, no person saw the live delivery. Its agent
    got the id of the test delivery, and the live key cannot read that delivery."""
    headers = {"Idempotency-Key": "report-42"}
    in_test_mode.post(in_test_mode.payload(), **headers)

    answer = caller.post(caller.payload(), **headers)

    assert answer.status_code == 201
    assert not answer.has_header("Idempotency-Replayed")
    assert caller.poll(answer.json()["delivery_id"])["status"] == "pending"
    assert sorted(Delivery.objects.values_list("mode", flat=True)) == ["live", "test"]


def test_rotating_a_key_loses_nothing(caller: AgentClient, key: ApiKey, answer: Any) -> None:
    """ "Scope of reads is the agent ..., not the key, so rotating a key loses nothing." """
    pk = caller.deliver()
    since = caller.sweep()["next_since"]
    new, text = keys.rotate(key, by=SYSTEM, overlap=timedelta(hours=1), at=timezone.now())
    new.text = text  # type: ignore[attr-defined]
    rotated = AgentClient(new, caller.agent_id)
    answer(pk)

    assert [item["delivery_id"] for item in rotated.sweep(since=since)["deliveries"]] == [pk]
    assert caller.poll(pk)["status"] == "approved", "The old one works until its overlap ends."
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now())
    assert caller.get(f"response/{pk}").status_code == 401
    assert rotated.poll(pk)["status"] == "approved"


def test_the_shown_agent_is_the_verified_one(caller: AgentClient, agent: Agent) -> None:
    """ "Identity bound to API key, not agent_id field" """
    ClaimedId.objects.create(agent=agent, pattern="*")

    caller.deliver(agent_id="the-ceo")

    assert str(Delivery.objects.get().agent) == "research-agent-01"
