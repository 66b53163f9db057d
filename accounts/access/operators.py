"""Decides who operates the server: the people who may enter /admin/. No role in a team counts."""

from __future__ import annotations

from accounts.models import User


def is_operator(user: User) -> bool:
    return user.is_active and user.is_staff
