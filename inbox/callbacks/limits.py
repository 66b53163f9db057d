"""Limits test callbacks and the look-ups of hosts."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.limits import throttles

TEST_CALLBACKS = "10/m"
DNS_LOOKUPS = "10/m"


def count_test_callback(request: HttpRequest) -> None:
    """Raises TooManyRequests. A test callback occupies a thread until the host answers, and slow
    hosts must not slow down the pages."""
    throttles.count(
        request, group="test_callback", rate=TEST_CALLBACKS, key=lambda: str(request.user.pk)
    )


def count_dns_lookup(request: HttpRequest) -> None:
    """Raises TooManyRequests. A DNS lookup occupies a thread, and a person could choose a host name
    that resolves slowly."""
    throttles.count(request, group="look-up", rate=DNS_LOOKUPS, key=lambda: str(request.user.pk))
