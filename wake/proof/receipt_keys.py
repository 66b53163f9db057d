"""Makes, rotates and cuts the Ed25519 key pairs that sign receipts (docs/receipts.md, Keys)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from accounts.audit import Actor, record
from accounts.log import tree
from accounts.log.checkpoints import checkpoints
from accounts.models import TeamMove
from wake.models import ReceiptKey

ALGORITHM = "Ed25519"  # RFC 9864, 2.2; `EdDSA` is deprecated, because it does not name the curve


class NoSuchReceiptKey(Exception):
    """No receipt key has this kid."""


class AlreadyCut(Exception):
    """This receipt key was cut before."""


def current_key() -> ReceiptKey:
    """Returns the key pair that signs now. Makes the first pair if there is none."""
    return ReceiptKey.objects.current()


@transaction.atomic
def rotate(*, by: Actor, cut: str = "", at: datetime) -> ReceiptKey:
    """Makes a new current pair, and returns it. Erases the private key of the pair before it. `cut`
    is the kid of a pair whose private key another party had. Receipts that were signed with a cut
    pair no longer count. Raises NoSuchReceiptKey or AlreadyCut, and then changes nothing."""
    made = ReceiptKey.objects.replace(at=at)
    if cut:
        _cut(cut, by=by, at=at)
    record("receipt_key.rotated", by=by, of=made, team=None, at=at)
    return made


def key_set() -> dict[str, Any]:
    """Returns every public key of this server as a JWK Set (RFC 7517), newest first. A cut key has
    the member `revoked` (OpenID Federation 1.0, 8.7), which also says how long the log was at that
    time. The member `log` has the verifier keys of the log, if it has a checkpoint."""
    own = ReceiptKey.objects.filter(issuer="").order_by("-created_at", "pk")
    keys = {"keys": [_jwk(key) for key in own]}
    if verifier_keys := checkpoints.verifier_keys():
        return {**keys, "log": {"keys": verifier_keys}}
    return keys


def key_sets_of_earlier_servers(team_id: int) -> Iterator[tuple[str, Any]]:
    """Yields the host and the JWK Set of each server from which the team moved, as they were when
    the team left it. These keys verify the receipts that the team brought."""
    moves = TeamMove.objects.filter(team=team_id, state=TeamMove.State.OPENED)
    move = moves.order_by("-ended_at").first()
    for each in move.servers if move else ():
        if each["server"] != settings.WAKE_ORIGIN:
            yield urlsplit(each["server"]).netloc.replace(":", "-"), each["keys"]


def _cut(kid: str, *, by: Actor, at: datetime) -> None:
    key = ReceiptKey.objects.filter(pk=kid, issuer="").first()
    if key is None:
        raise NoSuchReceiptKey(NoSuchReceiptKey.__doc__)
    if key.cut_at is not None:
        raise AlreadyCut(AlreadyCut.__doc__)
    key.cut_at, key.cut_size = at, tree.size()
    key.save(update_fields=["cut_at", "cut_size"])
    record("receipt_key.cut", by=by, of=key, team=None, at=at, log_size=key.cut_size)


def _jwk(key: ReceiptKey) -> dict[str, Any]:
    jwk: dict[str, Any] = {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": key.public_key,
        "kid": key.kid,
        "alg": ALGORITHM,
        "use": "sig",
    }
    if key.cut_at is not None:
        jwk["revoked"] = {
            "revoked_at": int(key.cut_at.timestamp()),
            "reason": "compromised",
            "log_size": key.cut_size,
        }
    return jwk
