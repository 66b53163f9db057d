"""Reads e-mail addresses. Several spellings can name the same mailbox, or can only look as if they
did."""

from __future__ import annotations

import string
import unicodedata

_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def read_address(text: str) -> str:
    """Returns the address as every form reads it: in NFKC and lower case, because one person may
    type it in many ways. Cut or refuse a long text first, because NFKC takes quadratic time."""
    return unicodedata.normalize("NFKC", text.strip()).strip().lower()


def exact_address(text: str) -> str:
    """Returns the address if the forms would change only its capital letters; otherwise an empty
    text. Another server verified the exact text, and NFKC could turn this text into another
    person's address. For example, the Roman numeral U+217D becomes a `c`."""
    address = text.strip().translate(_SMALL)
    return address if address == read_address(address) else ""


def ascii_domain(domain: str) -> str:
    """Returns the domain in the form of DNS, or an empty text if IDNA would replace one of its
    letters, such as `ß` by `ss`."""
    domain = domain.translate(_SMALL)
    if domain.isascii():
        return domain
    try:
        encoded = domain.encode("idna")
        return encoded.decode() if encoded.decode("idna") == domain else ""
    except UnicodeError:
        return ""


def domain_of(address: str) -> str:
    return ascii_domain(address.rpartition("@")[2])
