"""`wake verify` says of one file whether its receipt is signed, logged and witnessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.accounts.log.checkpoints.witness import verifier_key
from tests.client.shell.proofs import Log, base64_of
from tests.client.shell.test_verify import ANSWER, CONTENT, Files, Signer
from wake_client.shell.output import ExitStatus

pytestmark = pytest.mark.once

NAMES = ("signed", "logged", "witnessed", "content_matches")
OK = (True, True, None, None)


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, capsys)


@pytest.fixture
def signer() -> Signer:
    return Signer()


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def check(
    files: Files, signer: Signer, log: Log
) -> Callable[..., tuple[int, tuple[bool | None, ...], dict[str, Any]]]:
    """Returns the exit status, the four verdicts and the reasons."""

    def verify(
        text: str, *options: str, keys: list[dict[str, Any]] | None = None, **more: str
    ) -> tuple[int, tuple[bool | None, ...], dict[str, Any]]:
        words = options or ("--log-key", log.verifier_key)
        status, printed = files.verify(text, *(keys or [signer.jwk()]), more=words, **more)
        return status, tuple(printed[name] for name in NAMES), printed["reasons"]

    return verify


def test_a_receipt_in_the_log_is_signed_and_logged(check: Any, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    place = log.add(receipt)
    log.entries += [b"later"] * 6

    assert check(log.proof(receipt, *place))[:2] == (ExitStatus.OK, OK)


@pytest.mark.parametrize("size", range(1, 18))
def test_every_place_in_every_tree_is_proven(
    size: int, check: Any, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    for index in {0, size // 2, size - 1}:
        log.entries = [f"entry {number}".encode() for number in range(index)]
        place = log.add(receipt)
        log.entries += [b"later"] * (size - index - 1)

        assert check(log.proof(receipt, *place))[:2] == (ExitStatus.OK, OK)


def test_disclosures_may_be_left_out(check: Any, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    place = log.add(receipt)
    bare = f"{receipt.partition('~')[0]}~"

    assert check(log.proof(bare, *place))[:2] == (ExitStatus.OK, OK)


def test_content_and_answer_are_compared_too(check: Any, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    proof = log.proof(receipt, *log.add(receipt))
    changed = ANSWER.replace("only", "never")

    right = check(proof, content=json.dumps(CONTENT), answer=ANSWER)
    wrong = check(proof, answer=changed)

    assert right[:2] == (ExitStatus.OK, (True, True, None, True))
    assert wrong[:2] == (ExitStatus.CONTENT_DIFFERS, (True, True, None, False))
    assert wrong[2]["content_matches"] == "The answer has another feedback."


def test_the_key_of_the_log_may_come_with_the_keys(files: Files, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    path = files.write("proof", log.proof(receipt, *log.add(receipt)))
    other = Log().verifier_key
    keys = {"keys": [signer.jwk()], "log": {"keys": [other, log.verifier_key, 7]}}

    def status(value: dict[str, Any]) -> Any:
        text = Path(path).read_text()
        words = ["--keys", files.write("with-log", json.dumps(value))]
        return files.verify(text, more=words)[1]["logged"]

    assert status(keys) is True
    assert status({"keys": [signer.jwk()]}) is None
    assert status({"keys": [signer.jwk()], "log": "no"}) is None


def test_a_listed_key_that_cannot_be_read_matters_only_if_it_is_needed(
    files: Files, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    proof = log.proof(receipt, *log.add(receipt))

    def logged(*of_log: str, text: str = proof) -> tuple[int, Any, str]:
        value = {"keys": [{"kty": 7}, signer.jwk()], "log": {"keys": list(of_log)}}
        words = ["--keys", files.write("with-log", json.dumps(value))]
        status, printed = files.verify(text, more=words)
        return status, printed["logged"], printed["reasons"].get("logged", "")

    damaged = log.verifier_key[:-4]
    assert logged("x", damaged, log.verifier_key) == (ExitStatus.OK, True, "")
    assert logged("x", text=receipt)[:2] == (ExitStatus.OK, None)
    assert logged("x")[:2] == (ExitStatus.OK, None)
    status, verdict, reason = logged(damaged)
    assert (status, verdict) == (ExitStatus.NOT_LOGGED, False)
    assert "A key of this log in the list of the server cannot be read." in reason


def test_a_file_without_a_proof_fails_if_the_log_is_asked_for(
    check: Any, signer: Signer, log: Log
) -> None:
    status, verdicts, reasons = check(signer.receipt())

    assert (status, verdicts) == (ExitStatus.NOT_LOGGED, (True, False, None, None))
    assert reasons["logged"] == "Not logged: the file has no proof."


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("another log's key", "whose key is not given"),
        ("a key of the same name", "not signed by a key of the log"),
        ("another origin", "whose key is not given"),
        ("forged signature", "not signed by a key of the log"),
        ("second tree", "does not lead"),
        ("another index", "does not lead"),
        ("index beyond the tree", "does not lead"),
        ("shortened proof", "does not lead"),
        ("longer proof", "does not lead"),
        ("another hash", "does not lead"),
        ("another receipt", "does not lead"),
        ("another team", "does not lead"),
        ("another number", "does not lead"),
        ("another salt", "does not lead"),
        ("another size", "not signed by a key of the log"),
        ("another root", "not signed by a key of the log"),
    ],
)
def test_what_is_not_in_the_log_is_not_logged(
    what: str, reason: str, check: Any, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    index, entry = log.add(receipt)
    log.entries += [b"later"] * 5
    *hashes, last = log.proof(receipt, index, entry).partition("\n\n")[0].split("\n")[3:]
    key, proof = log.verifier_key, log.proof(receipt, index, entry)
    match what:
        case "another log's key":
            key = Log("other.example.com/log").verifier_key
        case "a key of the same name":
            key = Log().verifier_key
        case "another origin":
            other = Log("other.example.com/log")
            other.entries, other.key = log.entries, log.key
            proof = other.proof(receipt, index, entry)
        case "forged signature":
            note = log.checkpoint(signed_by=Ed25519PrivateKey.generate())
            proof = log.proof(receipt, index, entry, checkpoint=f"\n{note}")
        case "second tree":
            other = Log()
            other.add(receipt, number=6)
            proof = other.proof(receipt, index, entry, checkpoint=f"\n{log.checkpoint()}")
        case "another index":
            proof = log.proof(receipt, index, entry, index=f"index {index - 1}\n")
        case "index beyond the tree":
            proof = log.proof(receipt, index, entry, index=f"index {len(log.entries)}\n")
        case "shortened proof":
            proof = log.proof(receipt, index, entry, hashes="".join(f"{x}\n" for x in hashes))
        case "longer proof":
            more = [*hashes, last, base64_of(bytes(32))]
            proof = log.proof(receipt, index, entry, hashes="".join(f"{x}\n" for x in more))
        case "another hash":
            changed = [*hashes, base64_of(bytes(32))]
            proof = log.proof(receipt, index, entry, hashes="".join(f"{x}\n" for x in changed))
        case "another receipt":
            proof = log.proof(signer.receipt(status="approved"), index, entry)
        case "another size":
            proof = proof.replace("\n17\n", "\n18\n")
        case "another root":
            note = log.checkpoint()
            root = note.split("\n")[2]
            proof = proof.replace(root, base64_of(bytes(32)))
        case _:
            name = what.split(" ")[1]
            proof = log.proof(receipt, index, {**entry, name: "x" if name == "salt" else 9})

    status, verdicts, reasons = check(proof, "--log-key", key)

    assert verdicts[1] is False
    assert reason in reasons["logged"]
    assert status == ExitStatus.NOT_LOGGED
    assert verdicts[0] is True


def test_a_rotated_key_of_the_log_still_counts(check: Any, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    proof = log.proof(receipt, *log.add(receipt))
    keys = ["--log-key", Log().verifier_key, "--log-key", log.verifier_key]

    assert check(proof, *keys)[:2] == (ExitStatus.OK, OK)


def test_witnesses_must_all_have_cosigned(check: Any, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    keys = ["--log-key", log.verifier_key]
    first, second = log.witness("w.example/1"), log.witness("w.example/2")
    proof = log.proof(receipt, *log.add(receipt))
    stranger = verifier_key("w.example/2", Ed25519PrivateKey.generate())

    both = check(proof, *keys, "--witness-key", first, "--witness-key", second)
    wrong = check(proof, *keys, "--witness-key", first, "--witness-key", stranger)
    alone = check(signer.receipt(), "--witness-key", first)

    assert both[:2] == (ExitStatus.OK, (True, True, True, None))
    assert wrong[:2] == (ExitStatus.NOT_WITNESSED, (True, True, False, None))
    assert wrong[2]["witnessed"] == "The witness w.example/2 has not cosigned the checkpoint."
    assert alone[:2] == (ExitStatus.NOT_WITNESSED, (True, None, False, None))


def test_a_cosignature_of_another_checkpoint_witnesses_nothing(
    check: Any, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    place = log.add(receipt)
    witness = log.witness()
    stale = log.checkpoint().splitlines(keepends=True)[-1]
    log.entries.append(b"later")
    log.witnesses.clear()
    proof = log.proof(receipt, *place) + stale

    status, verdicts, _ = check(proof, "--log-key", log.verifier_key, "--witness-key", witness)

    assert (status, verdicts[2]) == (ExitStatus.NOT_WITNESSED, False)


@pytest.mark.parametrize("size", [0, 11, 12, 100])
def test_a_receipt_of_a_cut_key_counts_below_the_cut(
    size: int, check: Any, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    place = log.add(receipt)  # its index is 11
    witness = ("--witness-key", log.witness())
    cut = signer.jwk(revoked={"revoked_at": 1, "reason": "compromised", "log_size": size})

    status, verdicts, reasons = check(
        log.proof(receipt, *place), "--log-key", log.verifier_key, *witness, keys=[cut]
    )

    if size > 11:
        assert (status, verdicts) == (ExitStatus.OK, (True, True, True, None))
    else:
        assert (status, verdicts) == (ExitStatus.NOT_SIGNED, (False, True, True, None))
        assert "logged after the key was cut" in reasons["signed"]


@pytest.mark.parametrize("is_named", [True, False])
def test_a_thief_of_both_keys_cannot_forge_a_receipt_of_a_cut_key(
    is_named: bool, check: Any, signer: Signer, log: Log
) -> None:
    witness = log.witness()
    forged, invented = signer.receipt(status="approved"), Log(log.origin, entries=3)
    invented.key = log.key
    proof = invented.proof(forged, *invented.add(forged))  # its index is 3
    cut = signer.jwk(revoked={"revoked_at": 1, "reason": "compromised", "log_size": 11})
    named = ["--witness-key", witness] if is_named else []

    status, verdicts, reasons = check(proof, "--log-key", log.verifier_key, *named, keys=[cut])

    witnessed = False if is_named else None
    assert (status, verdicts) == (ExitStatus.NOT_SIGNED, (False, True, witnessed, None))
    assert "no witness confirms that the receipt is older" in reasons["signed"]


def test_a_cut_key_needs_a_proof_that_verifies(check: Any, signer: Signer, log: Log) -> None:
    receipt = signer.receipt()
    index, entry = log.add(receipt)
    forged = log.proof(receipt, index, entry, index="index 0\n")
    cut = signer.jwk(revoked={"revoked_at": 1, "reason": "compromised", "log_size": 5})

    status, verdicts, reasons = check(forged, keys=[cut])

    assert (status, verdicts[:2]) == (ExitStatus.NOT_SIGNED, (False, False))
    assert "no proof shows that the receipt is older" in reasons["signed"]


@pytest.mark.parametrize(
    "part",
    [
        {"extra": ""},
        {"extra": "extra !\n"},
        {"extra": f"extra {base64_of(b'[]')}\n"},
        {"extra": f"extra {base64_of(b'[' * 9_000)}\n"},
        {"extra": f'extra {base64_of(b"""{"receipt": 1, "entry": {}}""")}\n'},
        {"index": "index 011\n"},
        {"index": "index -1\n"},
        {"index": "index " + "9" * 5_000 + "\n"},
        {"hashes": "AAAA\n"},
        {"hashes": f"{base64_of(bytes(32))}\n" * 64},
        {"checkpoint": ""},
        {"checkpoint": "\nwake.example.com/log\n12\n"},
        {"checkpoint": "\n\n\n\n"},
        {"first": "c2sp.org/tlog-proof@v1\n" + "x" * 600_000},
    ],
    ids=lambda part: next(iter(part)),
)
def test_a_damaged_proof_is_not_logged(
    part: dict[str, str], check: Any, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    index, entry = log.add(receipt)

    status, verdicts, reasons = check(log.proof(receipt, index, entry, **part))

    assert status == ExitStatus.NOT_SIGNED  # it is the first verdict that failed
    assert verdicts[:2] == (False, False)
    assert reasons["logged"] in {
        "The proof is damaged.",
        "The file is too large for a proof.",
    }


@pytest.mark.parametrize("key", ["", "x", "a+b+c", "wake.example.com/log+00000000+AQ=="])
def test_a_key_that_cannot_be_read_is_an_error(key: str, check: Any, signer: Signer) -> None:
    with pytest.raises(ValueError, match="no verifier key"):
        check(signer.receipt(), "--witness-key", key)


def test_a_cosignature_says_nothing_of_a_receipt_that_is_not_logged(
    check: Any, signer: Signer, log: Log
) -> None:
    receipt = signer.receipt()
    keys = ["--log-key", log.verifier_key, "--witness-key", log.witness()]
    proof = log.proof(receipt, *log.add(receipt), index="index 0\n")

    status, verdicts, reasons = check(proof, *keys)

    assert (status, verdicts) == (ExitStatus.NOT_LOGGED, (True, False, False, None))
    assert reasons["witnessed"] == "The receipt is not shown to be in the log."
