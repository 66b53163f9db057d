"""Limits what anyone may ask of the authorization server without signing in."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.access.requests import PersonRequest
from accounts.limits import throttles
from accounts.limits.attempts import Limit

# The limits are high, because a vendor's clients may all come from a few addresses.
REGISTRATIONS = Limit(60, 3_600)
REGISTRATIONS_OF_ALL = Limit(2_000, 86_400)
# People connect a few clients, and each new one may be a document on a site that anyone names.
DOCUMENTS_OF_A_PERSON = Limit(30, 3_600)
EXCHANGES = "600/m"
DEVICE_CODES = Limit(60, 3_600)
DEVICE_CODES_OF_ALL = Limit(10_000, 86_400)
# One sign-in takes two or three attempts. A code is one of 25,600,000,000, and works for ten
# minutes.
TYPED_CODES_OF_A_PERSON = Limit(20, 600)
TYPED_CODES = Limit(100, 600)


def count_registration(request: HttpRequest) -> None:
    """Raises TooManyRequests. Each registration stores a row, so the rows of a day are limited."""
    network = throttles.client_network(request)
    throttles.count_attempts(
        request,
        ("oauth-registration", REGISTRATIONS, network),
        ("oauth-registration-all", REGISTRATIONS_OF_ALL, "all"),
    )


def count_document(request: PersonRequest) -> None:
    """Raises TooManyRequests. This server fetches the metadata document of a new client from the
    site that the client names, and stores a row."""
    throttles.count_attempts(
        request, ("client-document", DOCUMENTS_OF_A_PERSON, str(request.user.pk))
    )


def count_device_codes(request: HttpRequest) -> None:
    """Raises TooManyRequests. Each code stores a row, so the rows of a day are limited."""
    network = throttles.client_network(request)
    throttles.count_attempts(
        request,
        ("device-code", DEVICE_CODES, network),
        ("device-code-all", DEVICE_CODES_OF_ALL, "all"),
    )


def count_typed_code(request: PersonRequest) -> None:
    """Raises TooManyRequests, so that no one finds the code of another person's terminal by trying
    many."""
    throttles.count_attempts(
        request,
        ("typed-code-person", TYPED_CODES_OF_A_PERSON, str(request.user.pk)),
        ("typed-code", TYPED_CODES, throttles.client_network(request)),
    )


def count_token_request(request: HttpRequest) -> None:
    """Raises TooManyRequests."""
    throttles.count(
        request,
        group="oauth-token",
        rate=EXCHANGES,
        key=lambda: throttles.client_network(request),
    )
