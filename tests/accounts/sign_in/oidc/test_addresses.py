"""An address that the provider verified counts as it is written. The forms of Wake read many
spellings as one address, so no form may decide which account an address belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Identity, User
from pages.characters.addresses import ascii_domain, domain_of, exact_address, read_address
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import visit
from tests.fixtures.strict_client import Client

pytestmark = pytest.mark.django_db

OTHER_DOMAINS = [
    "nora@\u217dorp.example",  # small Roman numeral one hundred
    "nora@corp\u3002example",  # ideographic full stop
    "nora@corp\uff0eexample",  # full-width full stop
    "nora@\uff43orp.example",  # full-width c
    "nora@co\u00adrp.example",  # soft hyphen, which IDNA drops
    "nora@cor\u200bp.example",  # zero width space
    "nora@\u0441orp.example",  # Cyrillic
    "nora@corp.example.evil.example",
    "nora@evilcorp.example",
    "nora@sub.corp.example",
    "nora@corp.example.",
    '"nora@corp.example"@evil.example',
    "nora@corp.example@evil.example",
    "nora@evil.example@corp.example",
]
OTHER_PEOPLE = [
    "\uff4eora@corp.example",  # full-width n
    "\u24dd\u24de\u24e1\u24d0@corp.example",  # in circles
    "no\u0072\u0301a@corp.example",  # NFKC makes one letter of these two characters
]


@pytest.mark.parametrize("email", [*OTHER_DOMAINS, *OTHER_PEOPLE])
def test_another_spelling_creates_no_account(
    provider: MockProvider, client: Client, email: str
) -> None:
    provider.accounts["n-1"]["email"] = email

    answer = visit(client)

    assert answer.status_code != 303
    assert not User.objects.exists()


@pytest.mark.parametrize("email", ["\uff4eora@corp.example", "nora@\u217dorp.example"])
def test_another_spelling_is_not_connected_to_a_person_without_a_way_in(
    provider: MockProvider, client: Client, email: str
) -> None:
    User.objects.create_user("nora@corp.example")
    provider.accounts["n-1"]["email"] = email

    assert visit(client).status_code != 303

    assert not Identity.objects.exists()


@pytest.mark.parametrize("letter", ["\u212a", "\u017f", "\u0130"], ids=["Kelvin", "s", "I"])
def test_letters_that_become_others_in_lower_case(
    provider: MockProvider, client: Client, settings: Any, letter: str
) -> None:
    settings.WAKE_OIDC_DOMAINS = ["ki\u0307s.example", "kis.example"]
    spelled = {"\u212a": "\u212ais", "\u017f": "ki\u017f", "\u0130": "k\u0130s"}[letter]
    provider.accounts["n-1"]["email"] = f"nora@{spelled}.example"

    assert visit(client).status_code != 303
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("domain", "email"),
    [
        ("corp.example", "Nora@CORP.Example"),
        ("corp.example", "nora+wake@corp.example"),
        ("corp.example", '"nora"@corp.example'),
        ("corp.example", "\u043d\u043e\u0440\u0430@corp.example"),
        ("m\u00fcnchen.example", "nora@m\u00fcnchen.example"),
        ("m\u00fcnchen.example", "nora@xn--mnchen-3ya.example"),
        ("xn--mnchen-3ya.example", "nora@m\u00fcnchen.example"),
    ],
)
def test_the_same_domain_in_another_form_creates_an_account(
    provider: MockProvider, client: Client, settings: Any, domain: str, email: str
) -> None:
    settings.WAKE_OIDC_DOMAINS = [domain]
    provider.accounts["n-1"]["email"] = email

    if email.isascii() or email.partition("@")[0].isascii():
        assert visit(client).status_code == 303
        assert User.objects.get().email == email.lower()
    else:
        assert visit(client).status_code != 303, "Django takes only ASCII before the @"


def test_a_domain_that_idna_would_read_differently_is_none() -> None:
    assert ascii_domain("stra\u00dfe.example") == ""
    assert ascii_domain("a..example\u00e9") == ""
    assert domain_of("nora@M\u00fcnchen.example") == "xn--mnchen-3ya.example"


def test_an_address_is_read_once() -> None:
    assert exact_address(" Nora@Corp.example ") == "nora@corp.example"
    assert read_address(" \uff2eora@Corp.example\u3000") == "nora@corp.example"
    assert exact_address("\uff4eora@corp.example") == ""
