"""Limits sign-ins, and the mails that help people to sign in."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.limits import throttles
from accounts.limits.attempts import Limit
from accounts.sign_in.browsers import known_browsers
from pages.characters.addresses import read_address

SIGN_INS = Limit(10, 60)
SIGN_INS_OF_A_NETWORK = Limit(60, 60)
SIGN_INS_OF_A_PERSON = Limit(60, 3_600)
# The limit is high, because all people of an office may sign in from one address.
PROVIDER_SIGN_INS = "120/m"
MAILS_TO_AN_ADDRESS = ("3/h", "8/d")
LONGEST_ADDRESS = 254  # the form refuses longer addresses


def count_sign_in(request: HttpRequest, email: str) -> None:
    """Raises TooManyRequests. Attempts in a browser that this person has used before are counted
    separately, so that attempts from elsewhere cannot lock the person out. The address is
    normalised to NFKC, as in the form (Django's UsernameField). Otherwise someone could try the
    passwords of one person under many spellings of the address. The address is cut first, because
    normalising a long address of only combining marks took minutes."""
    email = read_address(email.strip()[:LONGEST_ADDRESS])
    if browser := known_browsers.known_as(request, email):
        throttles.count_attempts(
            request,
            ("known", SIGN_INS, f"{browser} {email}"),
            ("known-hour", SIGN_INS_OF_A_PERSON, f"{browser} {email}"),
        )
        return
    network = throttles.client_network(request)
    throttles.count_attempts(
        request,
        ("sign-in", SIGN_INS, f"{network} {email}"),
        ("sign-in-network", SIGN_INS_OF_A_NETWORK, network),
        ("sign-in-person", SIGN_INS_OF_A_PERSON, email),
    )


def may_record_failure(request: HttpRequest) -> bool:
    """Returns whether a failed sign-in is recorded in the audit: 20 an hour for one network, 1000
    for all networks. The limit does not depend on the account. Otherwise the time of the response
    would reveal whether the account exists."""
    try:
        throttles.count(
            request, group="failed", rate="20/h", key=lambda: throttles.client_network(request)
        )
        throttles.count(request, group="failed-all", rate="1000/h", key=lambda: "all")
    except throttles.TooManyRequests:
        return False
    return True


def count_reset(request: HttpRequest) -> None:
    """Counts a requested reset. Raises TooManyRequests if one network requests too many."""
    throttles.count(
        request, group="reset", rate="10/h", key=lambda: throttles.client_network(request)
    )


def count_reset_mail(request: HttpRequest, email: str) -> None:
    """Raises TooManyRequests if this address got too many mails with a reset or a confirmation
    link. The limit is for each address, because every link that was mailed to it works."""
    email = email.strip().lower()
    for rate in MAILS_TO_AN_ADDRESS:
        throttles.count(request, group="reset-mail", rate=rate, key=lambda: email)


def may_mail_a_reset(request: HttpRequest, email: str) -> bool:
    """Returns whether this address may get another mail with a reset."""
    try:
        count_reset_mail(request, email)
    except throttles.TooManyRequests:
        return False
    return True


def count_provider_sign_in(request: HttpRequest) -> None:
    """Raises TooManyRequests if one network begins too many sign-ins with the provider, because
    each stores a session."""
    throttles.count(
        request,
        group="provider",
        rate=PROVIDER_SIGN_INS,
        key=lambda: throttles.client_network(request),
    )
