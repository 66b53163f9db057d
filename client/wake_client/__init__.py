"""Delivers an agent's work to people over the WAKE protocol, and reads their answers."""

from wake_client.answers import Answer, Receipt, Status, Sweep, Type, Withdrawal
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
from wake_client.webhooks import SignatureMismatch, verify, verify_signature

__all__ = [
    "AlreadyAnswered",
    "Answer",
    "AsyncResponses",
    "AsyncWakeClient",
    "FieldProblem",
    "KeyNotValid",
    "NotAccepted",
    "NotAllowed",
    "NotFound",
    "NotWake",
    "Receipt",
    "Responses",
    "SignatureMismatch",
    "Status",
    "Sweep",
    "TooManyRequests",
    "Type",
    "Unavailable",
    "WakeClient",
    "WakeError",
    "Withdrawal",
    "verify",
    "verify_signature",
]
