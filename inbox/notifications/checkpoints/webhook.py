"""Posts checkpoints to a webhook, signed as Standard Webhooks requires."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from accounts.models import CheckpointSending
from inbox.notifications.channels.kinds.kind import JSON
from inbox.notifications.checkpoints.requests import check_arrived, post
from wake import wire
from wake.callbacks.signatures import standard_headers


def send(sending: CheckpointSending, *, at: datetime) -> str:
    """Raises NotSent. The webhook returns nothing to store."""
    checkpoint = sending.checkpoint
    body = wire.encode(
        {
            "type": "wake.checkpoint",
            "timestamp": checkpoint.made_at.isoformat(),
            "size": checkpoint.size,
            "root": checkpoint.root,
            "note": checkpoint.note,
        }
    )
    signed = standard_headers(
        body,
        secrets=[settings.WAKE_CHECKPOINT_WEBHOOK_SECRET],
        message_id=f"checkpoint_{checkpoint.size}",
        at=at,
    )
    check_arrived(post(settings.WAKE_CHECKPOINT_WEBHOOK, body=body, headers={**JSON, **signed}))
    return ""
