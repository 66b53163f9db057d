"""Reads e-mail addresses: several spellings can name one mailbox, or look as if they did."""

from __future__ import annotations

import string
import unicodedata

_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def read_address(text: str) -> str:
    """Returns the address as every form reads it: in NFKC and small letters, because one person may
    type it in many ways. Cut or refuse a long text before, because NFKC takes the square of the
    length."""
    return unicodedata.normalize("NFKC", text.strip()).strip().lower()


def exact_address(text: str) -> str:
    """Returns the address if the forms read nothing but capital letters differently; otherwise an
    empty text. Another server verified the text as it is, and NFKC makes the address of another
    person of it: the Roman numeral U+217D, for example, becomes a `c`."""
    address = text.strip().translate(_SMALL)
    return address if address == read_address(address) else ""


def ascii_domain(domain: str) -> str:
    """Returns the domain as DNS writes it, or an empty text if IDNA would read another letter
    instead of one of its own, such as `ss` for `ß`."""
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
