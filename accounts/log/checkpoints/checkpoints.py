"""Makes a signed checkpoint of the log every hour (https://c2sp.org/tlog-checkpoint)."""

from __future__ import annotations

import base64
import logging
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.audit import SYSTEM, Actor, record
from accounts.log import signed_tree, tiles, tree
from accounts.log.checkpoints import notes
from accounts.models import CheckpointSending, LogCheckpoint, LogKey, LogTree

log = logging.getLogger(__name__)

INTERVAL = timedelta(hours=1)


class LogChanged(Exception):
    """The log was changed since its newest checkpoint, so Wake signs no further checkpoint.
    docs/log.md, The log was changed, says what to do."""


def origin() -> str:
    """Returns the name of this log."""
    return f"{urlsplit(settings.WAKE_ORIGIN).netloc}/log"


def make_due(*, at: datetime) -> LogCheckpoint | None:
    """Makes a checkpoint if the log grew and the newest one is an hour old. The job calls this each
    minute. If the log was changed, reports this only to the server's own log. Raises
    encryption.Unreadable."""
    latest = newest()
    if latest is not None and latest.made_at > at - INTERVAL:
        return None
    try:
        return make(at=at)
    except LogChanged as error:
        log.critical("%s", error)
        return None


@transaction.atomic
def make(*, at: datetime) -> LogCheckpoint | None:
    """Makes a checkpoint if the log grew since the newest one. Raises LogChanged, or
    encryption.Unreadable."""
    key = _current_key(at=at)
    # Only one process makes a checkpoint, so the check below sees every earlier one.
    LogKey.objects.select_for_update().get(pk=key.pk)
    latest, stored = newest(), signed_tree.stored()
    size, root = stored.size, bytes(stored.root)
    if not _continues(latest, stored):
        raise LogChanged(LogChanged.__doc__)
    if size == (latest.size if latest else 0):
        return None
    text = f"{key.name}\n{size}\n{base64.b64encode(root).decode()}\n"
    private = load_pem_private_key(key.private_key.encode(), password=None)
    assert isinstance(private, Ed25519PrivateKey)  # noqa: S101 - for the type checker
    return LogCheckpoint.objects.create(
        size=size,
        root=root.hex(),
        note=notes.sign(text, name=key.name, key=private),
        made_at=at,
    )


def newest() -> LogCheckpoint | None:
    return LogCheckpoint.objects.order_by("-size").first()


def covering(index: int) -> LogCheckpoint | None:
    """Returns the newest checkpoint of a tree with this entry. Prefers one that a witness has
    cosigned."""
    rows = LogCheckpoint.objects.filter(size__gt=index).order_by("-size")
    return rows.filter(sendings__in=_cosigned()).first() or rows.first()


def cosigned_note(checkpoint: LogCheckpoint) -> str:
    """Returns the signed note, followed by the cosignatures of the witnesses."""
    lines = _cosigned().filter(checkpoint=checkpoint).order_by("name")
    return checkpoint.note + "".join(lines.values_list("result", flat=True))


@transaction.atomic
def rotate_key(*, by: Actor, at: datetime) -> LogKey:
    """Makes a new key for checkpoints, and erases the private part of the previous key."""
    made = LogKey.objects.replace(at=at, name=origin())
    record("log_key.rotated", by=by, of=made, team=None, at=at)
    return made


def verifier_keys() -> list[str]:
    """Returns the verifier keys that signed checkpoints, newest first."""
    return [
        str(verifier_key(key))
        for key in LogKey.objects.order_by("-is_current", "-created_at", "pk")
    ]


def verifier_key(key: LogKey) -> notes.VerifierKey:
    return notes.VerifierKey(key.name, base64.urlsafe_b64decode(f"{key.public_key}="))


def _current_key(*, at: datetime) -> LogKey:
    """Returns the key that signs now. A server with another address is another log to everyone
    else, so it gets another key."""
    key = LogKey.objects.current(name=origin())
    return key if key.name == origin() else rotate_key(by=SYSTEM, at=at)


def _continues(latest: LogCheckpoint | None, stored: LogTree) -> bool:
    """Returns whether a sweep signed the tree, its tiles lead to its root, and it contains the tree
    of the newest checkpoint."""
    size = latest.size if latest else 0
    if not signed_tree.is_genuine(stored) or stored.size < size:
        return False
    try:
        is_whole = not stored.size or tree.root(stored.size) == bytes(stored.root)
        return is_whole and (latest is None or tree.root(size).hex() == latest.root)
    except tiles.DamagedTile:
        return False


def _cosigned() -> QuerySet[CheckpointSending]:
    witness = CheckpointSending.Kind.WITNESS
    return CheckpointSending.objects.filter(kind=witness, sent_at__isnull=False)
