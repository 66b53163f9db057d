"""Makes SD-JWTs: signed claims that the holder can show in part (RFC 9901)."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from joserfc import jwt
from joserfc.jwk import OKPKey

HASH = {"_sd_alg": "sha-256"}
SALT_BYTES = 16  # RFC 9901, 9.3


def member(name: str, value: Any) -> str:
    """Returns the disclosure of a member of an object (section 4.2.1), with a new salt."""
    return _encoded([secrets.token_urlsafe(SALT_BYTES), name, value])


def element(value: Any) -> str:
    """Returns the disclosure of an element of an array (section 4.2.2), with a new salt."""
    return _encoded([secrets.token_urlsafe(SALT_BYTES), value])


def hidden_members(disclosures: Iterable[str]) -> dict[str, Any]:
    """Returns the claim `_sd`, which has the digests of the members. They are sorted, so that their
    order says nothing."""
    return {"_sd": sorted(map(digest, disclosures)), **HASH}


def hidden_elements(disclosures: Iterable[str]) -> list[dict[str, str]]:
    """Returns the array with the digests of the elements, in the order of the elements."""
    return [{"...": digest(each)} for each in disclosures]


def digest(disclosure: str) -> str:
    """Returns the SHA-256 of a disclosure in base64url (section 4.2.3)."""
    hashed = hashlib.sha256(disclosure.encode("ascii")).digest()
    return base64.urlsafe_b64encode(hashed).rstrip(b"=").decode()


def sign(claims: Mapping[str, Any], *, typ: str, algorithm: str, kid: str, pem: str) -> str:
    """Returns the signed JWT without disclosures."""
    header = {"typ": typ, "alg": algorithm, "kid": kid}
    return jwt.encode(header, dict(claims), OKPKey.import_key(pem), algorithms=[algorithm])


def joined(disclosures: Iterable[str]) -> str:
    """Returns the disclosures as one text, which follows the JWT. Each disclosure ends with `~`."""
    return "".join(f"{each}~" for each in disclosures)


def split(disclosures: str) -> Iterator[tuple[str, Any]]:
    """Yields each disclosure of a joined text, with its value."""
    for each in filter(None, disclosures.split("~")):
        *_, value = json.loads(base64.urlsafe_b64decode(each + "=" * (-len(each) % 4)))
        yield each, value


def _encoded(parts: list[Any]) -> str:
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()
