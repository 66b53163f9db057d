"""Whether an agent has delivered yet, which its connect page waits for."""

from __future__ import annotations

from accounts.models import Agent, ApiKey
from wake.models import Delivery


def first_delivery(agent: Agent) -> Delivery | None:
    """Its only one, or one of the oldest: where there are many, the first that nothing happened
    to since. Without its content. Two queries, each of the first row of cursor_of_an_agent."""
    lanes = [Delivery.objects.of_agent(agent, lane) for lane in ApiKey.Lane.values]
    firsts = [lane.only("created_at", "lane").order_by("activity_at").first() for lane in lanes]
    return min(filter(None, firsts), key=lambda delivery: delivery.created_at, default=None)
