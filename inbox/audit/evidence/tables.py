"""Names the columns of the tables for a spreadsheet, and writes their rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from io import StringIO
from typing import Any

from inbox.audit.evidence.records import DeliveryRecord
from inbox.audit.evidence.roles import HeldRole
from inbox.audit.export import cell
from wake import wire

DELIVERIES = [
    *("delivery_id", "received_at", "agent_id", "type", "headline", "irreversible", "digest"),
    *("digest_matches_content", "status", "decided_by", "person_id", "name", "role", "via"),
    *("all_in_sight", "amr", "opened_at", "answered_at", "released_at", "late", "votes"),
    *("claimed_at", "claimed_by", "outcome", "outcome_at", "outcome_summary", "receipt", "proof"),
    "missing",
]
MISSING = ["delivery_id", "what", "why"]
ROLES = ["membership_id", "person_id", "name", "role", "since", "until"]


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Returns rows as CSV. No spreadsheet reads a cell as a formula."""
    buffer = StringIO()
    csv.writer(buffer).writerows([cell(_text(value)) for value in row] for row in rows)
    return buffer.getvalue()


def delivery_row(record: DeliveryRecord) -> list[Any]:
    """Returns the cells of DELIVERIES."""
    values, delivery = record.values, record.delivery
    answer, claim = values["answer"] or {}, values["claim"] or {}
    outcome = values["outcomes"][-1] if values["outcomes"] else {}
    cells = {
        **{name: values[name] for name in ("delivery_id", "received_at", "agent_id", "digest")},
        "type": delivery.type,
        "headline": delivery.headline,
        "irreversible": delivery.irreversible,
        "digest_matches_content": values["digest_matches_content"],
        **{name: answer.get(name) for name in ("decided_by", "person_id", "name", "role", "via")},
        **{name: answer.get(name) for name in ("all_in_sight", "opened_at", "answered_at")},
        **{name: answer.get(name) for name in ("released_at", "late")},
        "status": answer.get("status") or delivery.Status.PENDING.value,
        "amr": " ".join(answer.get("amr") or ()),
        "votes": len(values["votes"]),
        "claimed_at": claim.get("claimed_at"),
        "claimed_by": claim.get("claimed_by"),
        "outcome": outcome.get("status"),
        "outcome_at": outcome.get("reported_at"),
        "outcome_summary": outcome.get("summary"),
        "receipt": record.receipt,
        "proof": record.proof,
        "missing": len(record.missing.parts),
    }
    return [cells[name] for name in DELIVERIES]


def role_row(held: HeldRole) -> list[Any]:
    since, until = (wire.instant(at) if at else "" for at in (held.since, held.until))
    return [held.membership_id, held.person_id, held.name, held.role, since, until]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
