"""Gives five separate verdicts about a file with a receipt: whether it is signed, logged and
witnessed, whether the content matches, and whether a person signed with a passkey (the server's
docs/receipts.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wake_client.proof import log_proofs
from wake_client.proof.log_proofs import LogProof, NotLogged, NotWitnessed, VerifierKey
from wake_client.proof.receipts import (
    ContentDiffers,
    NotSigned,
    check_answer,
    check_content,
    verified,
)
from wake_client.proof.signatures import NotSignedByPasskey, check_signers, signers

NO_SIGNATURE = "The receipt discloses no signature of a passkey, or not all of them."
NO_PROOF = "Not logged: the file has no proof."
NOT_COMPARED = "Not compared, because the receipt does not say it: {}."
UNREADABLE = "A key of this log in the list of the server cannot be read."


@dataclass(frozen=True, slots=True)
class ReceiptVerdict:
    """Says yes (True), no (False) or not checked (None). Without a yes, `reason` says why. With a
    yes about an answer, `reason` names the members of the answer that were not compared."""

    value: bool | None
    reason: str = ""


YES = ReceiptVerdict(value=True)


def _no(reason: str) -> ReceiptVerdict:
    return ReceiptVerdict(value=False, reason=reason)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Holds the verdicts about one file, and the claims of the receipt if it is signed. `signers`
    has the fingerprint of each passkey that signed the answer."""

    signed: ReceiptVerdict
    logged: ReceiptVerdict
    witnessed: ReceiptVerdict
    content_matches: ReceiptVerdict
    signed_by_passkey: ReceiptVerdict
    claims: dict[str, Any] = field(default_factory=dict)
    signers: list[str] = field(default_factory=list)

    def by_name(self) -> dict[str, ReceiptVerdict]:
        names = ("signed", "logged", "witnessed", "content_matches", "signed_by_passkey")
        return {name: getattr(self, name) for name in names}


def judge(
    text: str,
    keys: Mapping[str, Any],
    *,
    log_keys: Sequence[str] = (),
    witness_keys: Sequence[str] = (),
    passkeys: Sequence[str] = (),
    content: Mapping[str, Any] | None = None,
    answer: str | None = None,
) -> Verdicts:
    """Checks the text of a receipt, or of a `tlog-proof` with a receipt. `keys` is the JWK Set of
    the server, which also has the verifier keys of its log. `log_keys` replaces these. `passkeys`
    are the fingerprints of those that may have signed; without any, every passkey may. Raises
    ValueError for a key of `log_keys` or `witness_keys` that cannot be read, and without the
    package `cryptography`."""
    of_log, unreadable = _named(log_keys) if log_keys else _listed(keys)
    of_witnesses = [VerifierKey.parse(each) for each in witness_keys]
    proof, damage = _read(text)
    is_demanded = bool(log_keys)
    logged = _no(damage) if damage else _logged(proof, of_log, unreadable, is_demanded=is_demanded)
    witnessed = _witnessed(proof, of_witnesses, logged)
    index = proof.index if proof and logged.value else None
    receipt = text if proof is None else proof.receipt
    try:
        is_witnessed = witnessed.value is True
        claims = verified(receipt, keys, index=index, is_witnessed=is_witnessed)
    except NotSigned as reason:
        nothing = ReceiptVerdict(None, "The receipt is not signed.")
        return Verdicts(_no(str(reason)), logged, witnessed, nothing, nothing)
    by_passkey, found = _signed_by_passkey(claims, passkeys)
    matches = _content_matches(claims, content, answer)
    return Verdicts(YES, logged, witnessed, matches, by_passkey, claims=claims, signers=found)


def _signed_by_passkey(
    claims: Mapping[str, Any], known: Sequence[str]
) -> tuple[ReceiptVerdict, list[str]]:
    try:
        found = signers(claims)
        if known:
            check_signers(found, known)
    except NotSignedByPasskey as reason:
        return _no(str(reason)), []
    return (YES if found else ReceiptVerdict(None, NO_SIGNATURE)), found


def _named(keys: Sequence[str]) -> tuple[list[VerifierKey], list[str]]:
    """Returns the keys that the caller named. Raises ValueError if one cannot be read."""
    return [VerifierKey.parse(key) for key in keys], []


def _listed(keys: Mapping[str, Any]) -> tuple[list[VerifierKey], list[str]]:
    """Returns the verifier keys of the log, which the server lists beside those of receipts, and
    the texts that are no such key."""
    listed, unreadable = [], []
    match keys.get("log"):
        case {"keys": [*texts]}:
            for text in texts:
                try:
                    listed.append(VerifierKey.parse(str(text)))
                except ValueError:
                    unreadable.append(str(text))
    return listed, unreadable


def _read(text: str) -> tuple[LogProof | None, str]:
    """Returns the proof if the file is one, and the reason if the proof is damaged."""
    if not log_proofs.is_proof(text):
        return None, ""
    try:
        return log_proofs.read(text), ""
    except NotLogged as reason:
        return None, str(reason)


def _logged(
    proof: LogProof | None,
    keys: Sequence[VerifierKey],
    unreadable: Sequence[str],
    *,
    is_demanded: bool,
) -> ReceiptVerdict:
    """A file without a proof fails only if the caller named a key of the log. A key that cannot be
    read matters only if the log of the proof has that name, and no other key fits."""
    if proof is None:
        return _no(NO_PROOF) if is_demanded else ReceiptVerdict(None, NO_PROOF)
    is_needed = any(text.startswith(f"{proof.origin}+") for text in unreadable)
    if not keys and not is_needed:
        return ReceiptVerdict(None, "No verifier key of the log is given.")
    try:
        log_proofs.check_logged(proof, keys)
    except NotLogged as reason:
        return _no(f"{reason} {UNREADABLE}" if is_needed else str(reason))
    return YES


def _witnessed(
    proof: LogProof | None, keys: Sequence[VerifierKey], logged: ReceiptVerdict
) -> ReceiptVerdict:
    """A cosignature says nothing about a receipt that is not in the tree."""
    if not keys:
        return ReceiptVerdict(None, "No verifier key of a witness is given.")
    if proof is None or not logged.value:
        return _no("The receipt is not shown to be in the log.")
    try:
        log_proofs.check_witnessed(proof, keys)
    except NotWitnessed as reason:
        return _no(str(reason))
    return YES


def _content_matches(
    claims: Mapping[str, Any], content: Mapping[str, Any] | None, answer: str | None
) -> ReceiptVerdict:
    if content is None and answer is None:
        return ReceiptVerdict(None, "No content is given.")
    rest: list[str] = []
    try:
        if content is not None:
            check_content(claims, content)
        if answer is not None:
            rest = check_answer(claims, answer)
    except ContentDiffers as reason:
        return _no(str(reason))
    return ReceiptVerdict(value=True, reason=NOT_COMPARED.format(", ".join(rest)) if rest else "")
