"""Notes the tips of all chains for the manifest of a backup, signed.

A manifest is kept outside the database. So it reveals that the whole audit was set back, together
with its signed tips and totals, which the database cannot reveal.
"""

from __future__ import annotations

import json
from typing import Any

from accounts.audit.signatures import is_signed, sign
from accounts.models import AuditTip, Team


class NotGenuine(Exception):
    """The manifest has no tips of audit chains that one of WAKE_ENCRYPTION_KEYS has signed."""


def note_tips() -> dict[str, Any]:
    """Returns the team's name and the tip of each chain, and a signature. A tip is the number of
    events and the hash of the last one."""
    names = dict(Team.objects.values_list("pk", "name"))
    tips = {
        str(tip.chain): {"team": names.get(tip.chain, ""), "tip": str(tip)}
        for tip in AuditTip.objects.order_by("chain")
    }
    return {"tips": tips, "signature": sign(_text(tips))}


def read(manifest: str) -> dict[int, tuple[str, str]]:
    """Returns the team's name and the tip by chain. Raises NotGenuine."""
    try:
        note = json.loads(manifest)["audit"]
        tips = note["tips"]
        if not is_signed(_text(tips), note["signature"]):
            raise NotGenuine(NotGenuine.__doc__)
    except (ValueError, KeyError, TypeError) as error:
        raise NotGenuine(NotGenuine.__doc__) from error
    return {int(chain): (noted["team"], noted["tip"]) for chain, noted in tips.items()}


def _text(tips: Any) -> str:
    return f"audit manifest {json.dumps(tips, sort_keys=True)}"
