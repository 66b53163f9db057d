"""Asks witnesses to cosign checkpoints (https://c2sp.org/tlog-witness)."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.conf import settings
from django.db.models import Max

from accounts.log import tree
from accounts.log.checkpoints import notes
from accounts.models import CheckpointSending, LogCheckpoint
from inbox.notifications.checkpoints.requests import NeverArrives, NotSent, check_arrived, post
from wake.callbacks.http_client import HttpResult

MAX_DIGITS = 18  # a BIGINT holds every number of 18 digits


@dataclass(frozen=True, slots=True)
class Witness:
    """Names a witness by its verifier key, and the prefix of its URLs."""

    key: notes.VerifierKey
    url: str

    @classmethod
    def parse(cls, text: str) -> Witness:
        """Reads `verifier-key URL`. Raises notes.BadVerifierKey."""
        key, _, url = text.partition(" ")
        return cls(notes.VerifierKey.parse(key), url.strip().rstrip("/"))

    def send(self, sending: CheckpointSending, *, at: datetime) -> str:
        """Returns the cosignature lines. Raises NotSent, or NeverArrives if the witness has seen a
        longer log already."""
        checkpoint = sending.checkpoint
        known = self._known_size()
        answer = self._add(checkpoint, old=known)
        if answer.status_code == HTTPStatus.CONFLICT:
            answer = self._add(checkpoint, old=_size_of(answer, checkpoint, known=known))
        check_arrived(answer)
        returned = answer.content.decode(errors="replace")
        text = notes.text_of(checkpoint.note)
        if lines := notes.cosignatures(returned, text=text, key=self.key):
            return lines
        raise NotSent("The witness returned no valid cosignature of its key.")

    def _known_size(self) -> int:
        """Returns the size of the newest checkpoint that this witness has cosigned, or 0."""
        rows = CheckpointSending.objects.filter(
            kind=CheckpointSending.Kind.WITNESS, name=self.key.name, sent_at__isnull=False
        )
        return rows.aggregate(size=Max("checkpoint"))["size"] or 0

    def _add(self, checkpoint: LogCheckpoint, *, old: int) -> HttpResult:
        proof = tree.consistency_proof(old, checkpoint.size) if old else []
        lines = [f"old {old}", *(base64.b64encode(each).decode() for each in proof), ""]
        body = "\n".join([*lines, checkpoint.note])
        return post(f"{self.url}/add-checkpoint", body=body.encode(), headers={})


def configured() -> list[Witness]:
    """Raises notes.BadVerifierKey."""
    return [Witness.parse(text) for text in settings.WAKE_CHECKPOINT_WITNESSES]


def _size_of(answer: HttpResult, checkpoint: LogCheckpoint, *, known: int) -> int:
    """Returns the size that the witness has, from its answer 409."""
    text = answer.answer.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise NotSent("The witness refused the checkpoint (HTTP 409).")
    size = int(text)
    if size > checkpoint.size:
        raise NeverArrives(f"The witness has seen {size} entries already.")
    if size == known:
        raise NotSent("The witness has seen another log of the same size.")
    return size
