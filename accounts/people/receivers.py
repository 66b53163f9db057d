"""Updates a person's profile when they sign in."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.limits.throttles import client_address
from accounts.models import User
from accounts.people.profile import adopt_time_zone
from accounts.sign_in.browsers.signals import signed_in


@receiver(signed_in, dispatch_uid="accounts.people.receivers.adopt_time_zone")
def adopt_browsers_time_zone(
    request: HttpRequest, user: User, time_zone: str, at: datetime, **_: Any
) -> None:
    """Adopts the time zone of the browser at sign-in. The next page says so, because the person did
    not ask for the change."""
    if adopt_time_zone(user, time_zone, at=at, address=client_address(request)):
        messages.success(request, f"Times are in {time_zone}, as in your browser.")
