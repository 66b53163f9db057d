"""Orders the deliveries of the inbox: sections by type, and rows inside a section by priority."""

from __future__ import annotations

from wake.models import Delivery

TITLES: dict[str, str] = {
    Delivery.Type.QUESTION: "Needs your answer",
    Delivery.Type.ALERT: "Alerts",
    Delivery.Type.OUTPUT: "For review",
    Delivery.Type.UPDATE: "Updates",
}
SHORT_TITLES: dict[str, str] = {
    Delivery.Type.QUESTION: "Answer",
    Delivery.Type.ALERT: "Alerts",
    Delivery.Type.OUTPUT: "Review",
    Delivery.Type.UPDATE: "Updates",
}
# An agent's hint (RFC-002) sorts inside a section, among the rows of the page.
URGENCY = {priority: rank for rank, priority in enumerate(("high", "normal", "low"))}
