"""Verifies receipts of answers offline (the server's docs/receipts.md): SD-JWTs of RFC 9901, signed
with Ed25519. Needs the package `cryptography`: `pip install wake-client[verify]`."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from wake_client.digest import compact_json

TYPE, ALGORITHM = "wake-receipt+sd-jwt", "Ed25519"
# A receipt has a few kilobytes. The limits keep a hostile file from costing time or stack.
MAX_BYTES = 256 * 1024
MAX_DEPTH = 20


class NotSigned(Exception):
    """The receipt is not signed by one of the keys, or was changed. The message says why."""


class ContentDiffers(Exception):
    """The receipt is not about this content. The message names the difference."""


def verified(
    receipt: str,
    keys: Mapping[str, Any],
    *,
    index: int | None = None,
    is_witnessed: bool = False,
) -> dict[str, Any]:
    """Returns the claims of a receipt, including the disclosed ones. `keys` is the JWK Set of the
    server. `index` is the proven place of the receipt in the server's log, if there is a proof.
    `is_witnessed` says whether a witness confirmed the checkpoint of this proof. If the receipt's
    key was cut, the receipt counts only if `index` is below the size that the log had at the cut,
    and a witness confirmed the checkpoint. Raises NotSigned, and ValueError without the package
    `cryptography`."""
    if len(receipt) > MAX_BYTES:
        raise NotSigned("The file is too large for a receipt.")
    jwt, *disclosures = receipt.strip().split("~")
    if not disclosures or disclosures.pop() != "":
        raise NotSigned("The file is no receipt: a receipt ends with ~.")
    try:
        head, payload, signature = jwt.split(".")
        header, claims = _object(head), _object(payload)
        signed, proof = f"{head}.{payload}".encode("ascii"), _bytes(signature)
    except (ValueError, RecursionError) as error:
        raise NotSigned("The file is no receipt.") from error
    key = _check_signature(header, signed, proof, keys)
    _check_cut(key, index, is_witnessed=is_witnessed)
    return _disclosed(claims, disclosures)


def check_content(claims: Mapping[str, Any], content: Mapping[str, Any]) -> None:
    """Compares the content of a delivery with the digest of a verified receipt. `content` has the
    members of the digest. Raises ContentDiffers."""
    try:
        canonical = compact_json(dict(sorted(content.items()))).encode()
    except (TypeError, ValueError) as error:
        raise ContentDiffers("The content has no digest.") from error
    if claims.get("digest") is None:
        raise ContentDiffers("The receipt has no digest to compare with the content.")
    if hashlib.sha256(canonical).hexdigest() != claims["digest"]:
        raise ContentDiffers("The digest of the content is another one.")


def check_answer(claims: Mapping[str, Any], body: str) -> list[str]:
    """Compares an answer, as the server sent it, with a verified receipt that discloses the hashes.
    Returns the names of the members that the receipt says nothing about. Raises ContentDiffers."""
    texts: dict[str, str] = {}
    try:
        answer = json.loads(body, object_pairs_hook=without_repeated_names)
        if isinstance(answer, dict):
            texts = dict(_members(body))
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ContentDiffers("The answer is no JSON object.")
    expected = _expected(claims, answer)
    for name, value in expected.items():
        if not _is_same(answer.get(name), value):
            raise ContentDiffers(f"The answer has another {name}.")
    feedback, edit = answer.get("feedback"), texts.get("edited_content", "null")
    if not isinstance(feedback, str | None):
        raise ContentDiffers("The feedback of the answer is no text.")
    hashes = {
        "feedback": feedback,
        "edited_content": None if edit == "null" else edit,
    }
    for name, text in hashes.items():
        if f"{name}_sha256" not in claims:
            raise ContentDiffers(f"The receipt does not disclose the hash of {name}.")
        found = None if text is None else hashlib.sha256(text.encode()).hexdigest()
        if claims[f"{name}_sha256"] != found:
            raise ContentDiffers(f"The answer has another {name}.")
    compared = {*expected, *hashes}
    if _check_decisions(claims, answer.get("decisions")):
        compared.add("decisions")
    return [name for name in answer if name not in compared]


def _expected(claims: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that the claims give to members of the answer. None stands for a member
    that is null or not there. An answer has the digest only if the delivery asked for it."""
    of_claim = {"late": "late", "responded_at": "released_at", "quorum": "quorum"}
    expected = {name: claims.get(name) for name in ("delivery_id", "status")}
    expected |= {name: claims[claim] for name, claim in of_claim.items() if claim in claims}
    if "decided_by" in claims:
        expected["responded_by"] = {"kind": "rule"} if claims["decided_by"] == "rule" else None
    if "digest" in answer and claims.get("digest") is not None:
        expected["digest"] = claims["digest"]
    return expected


def _check_decisions(claims: Mapping[str, Any], decisions: Any) -> bool:
    """Returns whether the disclosed votes are all decisions of the answer. Raises ContentDiffers if
    a vote is not among the decisions."""
    votes, given = _decided(claims.get("votes")), _decided(decisions)
    if any(vote not in given for vote in votes):
        raise ContentDiffers("The answer has other decisions.")
    return votes == given


def _decided(votes: Any) -> list[tuple[Any, ...]]:
    """Returns who decided what, and when. The receipt may write the same time in another way."""
    each_is_object = isinstance(votes, list) and all(isinstance(vote, dict) for vote in votes)
    if not each_is_object:
        return []
    return [(vote.get("status"), vote.get("by"), _time(vote.get("at"))) for vote in votes]


def _time(text: Any) -> Any:
    """Returns the time that the text names, or the value itself if it is no time."""
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return text


def _is_same(found: Any, expected: Any) -> bool:
    return type(found) is type(expected) and bool(found == expected)


def without_repeated_names(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Builds an object of JSON, as the `object_pairs_hook` of json.loads. A reader could take
    another one of two members with the same name than this check does, so that raises
    ValueError."""
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("An object of the JSON has two members with the same name.")
    return found


def _check_signature(
    header: Mapping[str, Any], signed: bytes, signature: bytes, keys: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the key that made the signature. Raises NotSigned."""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PublicKey,
        )
    except ImportError as error:
        raise ValueError("This needs cryptography: pip install 'wake-client[verify]'.") from error
    if (header.get("typ"), header.get("alg")) != (TYPE, ALGORITHM) or "crit" in header:
        raise NotSigned(f"The receipt is not of the type {TYPE}, signed with {ALGORITHM}.")
    key = _key(keys, header.get("kid"))
    try:
        Ed25519PublicKey.from_public_bytes(_bytes(key["x"])).verify(signature, signed)
    except (InvalidSignature, ValueError) as error:
        raise NotSigned("The signature is not that of this receipt.") from error
    return key


def _check_cut(key: Mapping[str, Any], index: int | None, *, is_witnessed: bool) -> None:
    """Raises NotSigned if the key was cut, unless a witness confirms that the receipt is in the log
    from before the cut. The server has the key of the log, too, and a thief of both keys can sign a
    tree with any receipt in any place. A witness does not confirm such a tree."""
    if "revoked" not in key:
        return
    if index is None:
        raise NotSigned(
            "Another party had the private key, and no proof shows that the receipt is older."
        )
    match key["revoked"]:
        case {"log_size": int(size)} if index < size:
            if is_witnessed:
                return
            raise NotSigned(
                "Another party had the private key, and no witness confirms that the receipt is "
                "older. That party may also have had the key of the log."
            )
    raise NotSigned(
        "Another party had the private key, and the receipt was logged after the key was cut."
    )


def _key(keys: Mapping[str, Any], kid: Any) -> dict[str, Any]:
    """Returns the key whose thumbprint (RFC 7638) is `kid`. The name that
    the list gives a key does not count."""
    listed = keys.get("keys")
    for key in listed if isinstance(listed, list) else []:
        match key:
            case {"kty": "OKP", "crv": "Ed25519", "x": str(x), "kid": str(found)} if found == kid:
                canonical = compact_json({"crv": "Ed25519", "kty": "OKP", "x": x}).encode()
                if _text(hashlib.sha256(canonical).digest()) == found:
                    return dict(key)
    raise NotSigned("The key that the receipt names is not among the keys.")


def _disclosed(claims: dict[str, Any], disclosures: list[str]) -> dict[str, Any]:
    """Returns the claims, with each digest replaced by the value that is disclosed (RFC 9901,
    7.1)."""
    if claims.pop("_sd_alg", "sha-256") != "sha-256":
        raise NotSigned("The receipt hides claims with an unknown hash.")
    try:
        by_digest = {
            _text(hashlib.sha256(each.encode("ascii")).digest()): json.loads(_bytes(each))
            for each in disclosures
        }
    except (ValueError, RecursionError) as error:
        raise NotSigned("The receipt has a disclosure that is damaged.") from error
    if len(by_digest) != len(disclosures):
        raise NotSigned("The receipt has a disclosure twice.")
    shown = _shown(claims, by_digest, depth=0)
    if by_digest:
        raise NotSigned("The receipt has a disclosure that does not belong to it.")
    return dict(shown)


def _shown(value: Any, by_digest: dict[str, Any], *, depth: int) -> Any:
    """Replaces the digests in a value. Removes each used disclosure from `by_digest`."""
    if depth > MAX_DEPTH:
        raise NotSigned("The receipt is nested too deeply.")
    if isinstance(value, list):
        elements = (_element(each, by_digest) for each in value)
        return [_shown(each, by_digest, depth=depth + 1) for found in elements for each in found]
    if not isinstance(value, dict):
        return value
    members = {name: each for name, each in value.items() if name != "_sd"}
    hidden = value.get("_sd", [])
    for digest in hidden if isinstance(hidden, list) else []:
        match by_digest.pop(digest, None) if isinstance(digest, str) else None:
            case None:
                continue
            case [str(), str(name), each] if name not in members and name not in {"_sd", "..."}:
                members[name] = each
            case _:
                raise NotSigned("The receipt has a disclosure that is damaged.")
    return {name: _shown(each, by_digest, depth=depth + 1) for name, each in members.items()}


def _element(value: Any, by_digest: dict[str, Any]) -> list[Any]:
    """Returns the element of an array as a list, which is empty if the element is hidden."""
    match value:
        case {"...": str(digest), **more} if not more:
            match by_digest.pop(digest, None):
                case None:
                    return []
                case [str(), each]:
                    return [each]
            raise NotSigned("The receipt has a disclosure that is damaged.")
    return [value]


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Yields the name of each member of a JSON object, and its JSON text exactly as it is
    written."""
    decoder, at = json.JSONDecoder(), text.index("{") + 1
    while text[at:].lstrip()[:1] not in ("}", ""):
        at = _skip(text, at, ",")
        name, at = decoder.raw_decode(text, at)
        start = _skip(text, at, ":")
        _, at = decoder.raw_decode(text, start)
        yield str(name), text[start:at]


def _skip(text: str, at: int, mark: str) -> int:
    """Skips any blanks and then the mark, and returns the place after the mark."""
    while at < len(text) and text[at] in f" \t\r\n{mark}":
        at += 1
    return at


def _object(encoded: str) -> dict[str, Any]:
    value = json.loads(_bytes(encoded))
    if not isinstance(value, dict):
        raise ValueError(encoded)  # noqa: TRY004 - as for text that is no JSON
    return value


def _bytes(encoded: str) -> bytes:
    """Reads base64url without padding. Raises ValueError for any other text."""
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
