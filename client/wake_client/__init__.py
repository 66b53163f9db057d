"""Delivers an agent's work to people over the WAKE protocol, and reads their answers."""

from wake_client import blocks
from wake_client.answers import (
    Answer,
    Blob,
    Claim,
    Outcome,
    OutcomeStatus,
    Receipt,
    Status,
    Sweep,
    Type,
    Withdrawal,
)
from wake_client.async_client import AsyncResponses, AsyncWakeClient
from wake_client.book import AsyncBook, Book
from wake_client.client import Responses, WakeClient
from wake_client.digest import content_digest
from wake_client.errors import (
    AlreadyAnswered,
    ContentMismatch,
    FieldProblem,
    KeyNotValid,
    NotAccepted,
    NotAllowed,
    NotClaimed,
    NotFound,
    NotWake,
    TooManyRequests,
    Unavailable,
    WakeError,
)
from wake_client.http.flows import Unsent
from wake_client.receivers import Receiver
from wake_client.webhooks import SignatureMismatch, verify, verify_signature

__all__ = [
    "AlreadyAnswered",
    "Answer",
    "AsyncBook",
    "AsyncResponses",
    "AsyncWakeClient",
    "Blob",
    "Book",
    "Claim",
    "ContentMismatch",
    "FieldProblem",
    "KeyNotValid",
    "NotAccepted",
    "NotAllowed",
    "NotClaimed",
    "NotFound",
    "NotWake",
    "Outcome",
    "OutcomeStatus",
    "Receipt",
    "Receiver",
    "Responses",
    "SignatureMismatch",
    "Status",
    "Sweep",
    "TooManyRequests",
    "Type",
    "Unavailable",
    "Unsent",
    "WakeClient",
    "WakeError",
    "Withdrawal",
    "blocks",
    "content_digest",
    "verify",
    "verify_signature",
]
