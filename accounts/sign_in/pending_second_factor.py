"""Remembers a person between the right password and the code, before they are signed in."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.sessions.backends.base import SessionBase
from django.utils.crypto import constant_time_compare

from accounts.models import User
from database import encryption

KEY = "half_way_in"
HOLDS = timedelta(minutes=10)


def begin(session: SessionBase, user: User, *, to: str, at: datetime) -> None:
    """Starts a pending sign-in. `to` is the path of our site that they asked for. It is encrypted,
    because it may be the link of an invitation, and the database has only the hash of that."""
    session.cycle_key()
    session[KEY] = {
        "person": user.pk,
        "fits": user.get_session_auth_hash(),
        "at": at.timestamp(),
        "to": encryption.encrypt(to.encode()).decode(),
    }


def person_of(session: SessionBase, *, at: datetime) -> User | None:
    """Returns the person whose code is missing. Returns None when no sign-in is pending, it has
    expired, or the password has changed since."""
    state = session.get(KEY)
    if state is None or at.timestamp() - state["at"] > HOLDS.total_seconds():
        return None
    user = User.objects.filter(pk=state["person"], is_active=True).first()
    if user and constant_time_compare(state["fits"], user.get_session_auth_hash()):
        return user
    return None


def finish(session: SessionBase) -> str:
    """Ends the pending sign-in and returns the path that they asked for."""
    return encryption.decrypt(session.pop(KEY)["to"].encode()).decode()
