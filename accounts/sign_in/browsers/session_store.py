"""Stores Django's sessions in the database, each with its person (SESSION_ENGINE)."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions

from accounts.models import Session

# Version 0.2 stored this name of the backend in each session.
BACKEND_OF_0_2 = "inbox.people.settings.preferences.WithPreferences"


class SessionStore(DatabaseSessions):
    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row = cast(Session, super().create_model_instance(data))
        row.user_id = data.get(SESSION_KEY)
        return row

    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        """Replaces the name of the authentication backend in sessions of version 0.2. Django would
        end a session with the old name."""
        data: dict[str, Any] = super().decode(session_data)
        if data.get(BACKEND_SESSION_KEY) == BACKEND_OF_0_2:
            data[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        return data
