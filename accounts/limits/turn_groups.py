"""Groups callers for their turns (database/turns.py), before anything is looked up.

Anyone can make up a key. So all credentials that were not accepted yet share the turns of their
network address. Accepting a credential moves it to the group of its team or person, for the next
requests of the process.
"""

from __future__ import annotations

from hashlib import blake2b

from database import turns
from database.turns import TurnTaker

MAX_KNOWN = 10_000
# The group of each accepted credential, by the credential's digest.
_groups: dict[str, str] = {}


def caller_of(credential: bytes, *, network: str) -> TurnTaker:
    """Returns who sends a request with this credential, a key or a session, or without one."""
    if not credential:
        return TurnTaker(network)
    member = blake2b(credential, digest_size=16).hexdigest()
    return TurnTaker(_groups.get(member, network), member)


def accept(group: str) -> None:
    """Remembers that the credential of the present request is valid and belongs to `group`."""
    turn = turns.current.get()
    if turn is None or turn.caller.group == group or not turn.caller.member:
        return
    if len(_groups) >= MAX_KNOWN:
        _groups.clear()
    _groups[turn.caller.member] = group
