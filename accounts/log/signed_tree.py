"""Signs the size and the root of the log with keys that are not in the database
(accounts/audit/signatures.py). So Wake notices if another program replaces rows together with the
tree."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accounts.audit.signatures import is_signed, sign
from accounts.log import tiles
from accounts.log.tree import root
from accounts.models import LogTree

log = logging.getLogger(__name__)


def stored() -> LogTree:
    """Returns the stored tree, or an empty one."""
    return LogTree.objects.filter(pk=1).first() or LogTree(pk=1)


def to_extend() -> LogTree:
    """Returns the tree for a caller that holds the lock of the checkpoint."""
    return LogTree.objects.get_or_create(pk=1)[0]


def extend(tree: LogTree, hashes: Sequence[bytes], *, at: datetime) -> None:
    """Appends leaf hashes to the tiles and the tree. A forged tree keeps its signature, because a
    new signature would hide the forgery. Raises tiles.DamagedTile."""
    was_genuine = is_genuine(tree) and root(tree.size) == bytes(tree.root)
    tiles.append(tree.size, hashes)
    tree.size, tree.appended_at = tree.size + len(hashes), at
    tree.root = root(tree.size)
    if was_genuine:
        tree.signature = sign(_text(tree))
    else:
        log.critical("The size or the root of the log was changed; audit_verify says more")
    tree.save(update_fields=["size", "root", "signature", "appended_at"])


def is_genuine(tree: LogTree) -> bool:
    """Returns whether a sweep signed the tree. The empty tree of a new server has no signature."""
    is_new = not tree.size and not tree.signature
    return is_new or is_signed(_text(tree), tree.signature)


def verification_is_genuine(tree: LogTree) -> bool:
    """Returns whether audit_verify signed the stored result of the last verification, or whether
    the log was never verified."""
    is_new = not tree.verified_size and not tree.verified_signature
    return is_new or is_signed(_verified_text(tree), tree.verified_signature)


def remember_verification(size: int, root: bytes) -> None:
    """Stores the size and root of a log that audit_verify found unbroken."""
    tree = to_extend()
    tree.verified_size, tree.verified_root = size, root
    tree.verified_signature = sign(_verified_text(tree))
    tree.save(update_fields=["verified_size", "verified_root", "verified_signature"])


def sign_again(tree: LogTree) -> None:
    """Signs the size and root, after they were made again from the entries."""
    tree.signature = sign(_text(tree))
    tree.save(update_fields=["size", "root", "signature"])


@transaction.atomic
def sign_with_newest_key() -> None:
    """Signs the genuine facts with the newest key, so that older keys can be removed."""
    tree = LogTree.objects.select_for_update().filter(pk=1).first()
    if tree is None:
        return
    if is_genuine(tree):
        tree.signature = sign(_text(tree))
    if verification_is_genuine(tree):
        tree.verified_signature = sign(_verified_text(tree))
    tree.save(update_fields=["signature", "verified_signature"])


def head(tree: LogTree) -> str:
    """Returns `SIZE:ROOT`, the root in hexadecimal digits."""
    return f"{tree.size}:{bytes(tree.root).hex()}"


def _text(tree: LogTree) -> str:
    return f"audit log {head(tree)}"


def _verified_text(tree: LogTree) -> str:
    return f"audit log verified {tree.verified_size}:{bytes(tree.verified_root).hex()}"
