"""Has the checks, one for each requirement. Importing this package registers them."""

from wake_check.checks import (
    access,
    answers,
    approvals,
    delivering,
    errors,
    fields,
    repeating,
    sweeps,
    webhooks,
    withdrawing,
)
from wake_check.checks.registry import CHECKS, LAST

__all__ = [
    "CHECKS",
    "LAST",
    "access",
    "answers",
    "approvals",
    "delivering",
    "errors",
    "fields",
    "repeating",
    "sweeps",
    "webhooks",
    "withdrawing",
]
