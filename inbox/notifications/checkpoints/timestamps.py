"""Asks a time-stamp authority to stamp checkpoints (RFC 3161; the extra `timestamps`)."""

from __future__ import annotations

import base64
from datetime import datetime
from pathlib import Path

from cryptography import x509
from django.conf import settings

from accounts.models import CheckpointSending
from inbox.notifications.checkpoints.requests import NotSent, check_arrived, post

try:
    import rfc3161_client as rfc3161
except ImportError:  # wake/server/checks.py says how to install it
    rfc3161 = None  # type: ignore[assignment]

HEADERS = {"Content-Type": "application/timestamp-query"}  # RFC 3161, 3.4


def send(sending: CheckpointSending, *, at: datetime) -> str:
    """Returns the verified response in base64. Raises NotSent."""
    if rfc3161 is None:
        raise NotSent("The package rfc3161-client is not installed.")
    text = sending.checkpoint.note.encode()
    query = rfc3161.TimestampRequestBuilder(text, rfc3161.HashAlgorithm.SHA256).build()
    answer = post(settings.WAKE_CHECKPOINT_TIMESTAMPS, body=query.as_bytes(), headers=HEADERS)
    check_arrived(answer)
    try:
        stamp = rfc3161.decode_timestamp_response(answer.content)
        verifier = rfc3161.VerifierBuilder.from_request(query)
        for certificate in _roots():
            verifier = verifier.add_root_certificate(certificate)
        verifier.build().verify_message(stamp, text)
    except (rfc3161.VerificationError, ValueError) as error:
        raise NotSent(f"The time stamp does not count: {error}") from error
    return base64.b64encode(answer.content).decode()


def _roots() -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(
            Path(settings.WAKE_CHECKPOINT_TIMESTAMP_ROOTS).read_bytes()
        )
    except (OSError, ValueError) as error:
        raise NotSent("WAKE_CHECKPOINT_TIMESTAMP_ROOTS names no file with certificates.") from error
