"""Describes the request of a signed-in person."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.audit import Actor, person
from accounts.limits.throttles import client_address
from accounts.models import User


class PersonRequest(HttpRequest):
    """Carries the signed-in person."""

    user: User


def actor(request: PersonRequest) -> Actor:
    """Returns the person and the address of their request, for the audit."""
    return person(request.user, client_address(request))
