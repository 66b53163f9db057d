"""Records who did what to which object, in a hash chain that reveals every change.

Other packages call `audit.record(...)` inside the transaction.
"""

from accounts.audit.events import (
    COPIED_FROM,
    SYSTEM,
    Actor,
    agent_actor,
    event_of,
    person,
    record,
    record_many,
)

__all__ = [
    "COPIED_FROM",
    "SYSTEM",
    "Actor",
    "agent_actor",
    "event_of",
    "person",
    "record",
    "record_many",
]
