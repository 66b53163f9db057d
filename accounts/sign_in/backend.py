"""Loads the person who is signed in with what every page needs (AUTHENTICATION_BACKENDS)."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.contrib.auth.backends import ModelBackend

from accounts.models import User
from accounts.sign_in.two_step import second_factor
from database.compiled_queries import CompiledQuery, parameter

_rows: list[str] = []


def load_with_person(relation: str) -> None:
    """Registers a kind of row, such as preferences. Each person has at most one row of the kind,
    and the row is loaded together with the person. Apps call this when they start."""
    _rows.append(relation)


class PersonBackend(ModelBackend):
    """Loads the person with the registered rows, and whether they must set up a second factor
    first. Makes one query."""

    def get_user(self, user_id: Any) -> User | None:
        users: list[User] = _person().objects(pk=user_id)
        return users[0] if users and self.user_can_authenticate(users[0]) else None


@cache
def _person() -> CompiledQuery:
    users = User.objects.select_related(*_rows).filter(pk=parameter("pk", User, "id"))
    return CompiledQuery(lambda: second_factor.with_owed(users))
