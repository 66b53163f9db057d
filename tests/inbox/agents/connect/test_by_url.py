"""A step of a workflow asks with the URL of its run (docs/by-url.md)."""

from __future__ import annotations

import json

import pytest

from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from tests.inbox.agents.connect.page import Copied, delivered
from tests.inbox.agents.connect.test_snippets import HOSTILE
from wake.callbacks.allowlist import allow
from wake.models import Delivery


@pytest.mark.parametrize("agent_id", ["research-agent-01", HOSTILE])
def test_a_step_of_a_workflow_asks_with_the_url_of_its_run(
    copied: Copied, team: Team, node: str, agent_id: str
) -> None:
    Agent.objects.update(agent_id=agent_id)
    allow("api.trigger.dev", team=team, by=SYSTEM)
    page = copied()
    page.save("by-url", "ask.mjs")
    url = "https://api.trigger.dev/api/v1/waitpoints/tokens/waitpoint_1/callback/5f1e77"
    question = json.dumps({"headline": "Refund?", "summary": "The parcel was lost."})
    asks = f"ask.askByUrl({json.dumps(url)}, 'waitpoint_1', {question})"

    ids = [
        page.run(node, "-e", f"import('./ask.mjs').then((ask) => {asks}).then(console.log)")
        for _ in range(2)
    ]

    delivery = delivered()
    assert all(str(delivery.pk) in printed for printed in ids)
    assert (Delivery.objects.count(), delivery.claimed_agent_id) == (1, agent_id)
    assert delivery.callback_webhook == url
