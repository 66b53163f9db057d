"""Puts the audit chains of version 0.2 into the log: entry 0 covers the tips of all chains.

The rows of the chains stay, and `audit_verify` verifies them against these tips.
"""

from __future__ import annotations

import hashlib
import json

from accounts.audit.chain import NO_TEAM
from accounts.log.entries import Content
from accounts.models import AuditTip, LogEntry


def exist() -> bool:
    return AuditTip.objects.exists()


def contents() -> list[Content]:
    """Returns the content of entry 0, or nothing if version 0.2 never ran here."""
    return [Content(LogEntry.TIPS, NO_TEAM, tips_sha256())] if exist() else []


def tips_sha256() -> bytes:
    """Returns the SHA-256 over a JSON object, in its JCS form, with the tip `POSITION:HASH` of each
    chain."""
    tips = {str(tip.chain): str(tip) for tip in AuditTip.objects.all()}
    return hashlib.sha256(json.dumps(tips, sort_keys=True, separators=(",", ":")).encode()).digest()


def positions() -> dict[int, int]:
    """Returns the number of events in each chain."""
    return dict(AuditTip.objects.values_list("chain", "position"))
