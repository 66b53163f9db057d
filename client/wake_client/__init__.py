"""Delivers an agent's work to people over the WAKE protocol, and reads their answers."""

from wake_client import blocks
from wake_client.answers import Answer, Blob, Receipt, Status, Sweep, Type, Withdrawal
from wake_client.book import AsyncBook, Book
from wake_client.client import AsyncResponses, AsyncWakeClient, Responses, WakeClient
from wake_client.errors import (
    AlreadyAnswered,
    FieldProblem,
    KeyNotValid,
    NotAccepted,
    NotAllowed,
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
    "FieldProblem",
    "KeyNotValid",
    "NotAccepted",
    "NotAllowed",
    "NotFound",
    "NotWake",
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
    "verify",
    "verify_signature",
]
