"""Signs the head of the log, and the tips of the chains of version 0.2, for the manifest of a
backup.

A manifest is stored outside the database. So a manifest reveals whether the whole audit was set
back, together with its signatures. Without a manifest, an older state of the whole database looks
genuine.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from accounts.audit.signatures import is_signed, sign
from accounts.log import signed_tree
from accounts.models import AuditTip, Team


class NotGenuine(Exception):
    """None of WAKE_ENCRYPTION_KEYS has signed the tips of the audit chains in this manifest."""


class Manifest(NamedTuple):
    """Holds the head of the log, and the team's name and the tip of each chain. A manifest of
    version 0.2 has an empty head."""

    head: str
    tips: dict[int, tuple[str, str]]


def signed() -> dict[str, Any]:
    """Returns the head `SIZE:ROOT` of the log, the team's name and the tip `POSITION:HASH` of each
    chain, and a signature."""
    names = dict(Team.objects.values_list("pk", "name"))
    tips = {
        str(tip.chain): {"team": names.get(tip.chain, ""), "tip": str(tip)}
        for tip in AuditTip.objects.order_by("chain")
    }
    head = signed_tree.head(signed_tree.stored())
    return {"log": head, "tips": tips, "signature": sign(_text(tips, head))}


def read(manifest: str) -> Manifest:
    """Reads the manifest of a backup, also of version 0.2. Raises NotGenuine."""
    try:
        note = json.loads(manifest)["audit"]
        tips, head = note["tips"], note.get("log", "")
        if not is_signed(_text(tips, head), note["signature"]):
            raise NotGenuine(NotGenuine.__doc__)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotGenuine(NotGenuine.__doc__) from error
    by_chain = {int(chain): (tip["team"], tip["tip"]) for chain, tip in tips.items()}
    return Manifest(head, by_chain)


def _text(tips: Any, head: str) -> str:
    """Returns the signed text. A manifest of version 0.2 has no head."""
    of_the_log = f" {head}" if head else ""
    return f"audit manifest {json.dumps(tips, sort_keys=True)}{of_the_log}"
