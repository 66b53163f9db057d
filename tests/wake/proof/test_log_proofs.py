"""On request, a receipt comes with the proof that the receipt is in the log."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command

from accounts.log import sweep
from accounts.log.checkpoints import checkpoints, notes
from accounts.models import CheckpointSending, LogCheckpoint, LogTile
from database.clock import database_now
from tests.accounts.log.checkpoints.growing import grow
from tests.accounts.log.checkpoints.witness import cosign, verifier_key
from tests.fixtures import peers
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.types import Answer
from wake.models import Receipt, ReceiptKey
from wake.proof import log_proofs
from wake_client.proof.verdicts import judge

pytestmark = pytest.mark.django_db

PEER = Path(__file__).parent / "peers" / "python_tlog"
WITNESS = Ed25519PrivateKey.generate()


@pytest.fixture
def answered(caller: AgentClient, answer: Answer) -> str:
    """Returns the id of a delivery whose agent has the receipt."""
    pk = caller.deliver(type="question")
    answer(pk, feedback="Yes.")
    assert caller.get(f"receipt/{pk}").status_code == 200
    return pk


@pytest.fixture
def checkpoint() -> Callable[[], LogCheckpoint]:
    """Logs new receipts between other entries, and makes a checkpoint."""

    def make() -> LogCheckpoint:
        grow(300)
        sweep.append_new(at=database_now())
        grow(7)
        made = checkpoints.make(at=database_now())
        assert made is not None
        return made

    return make


def keys_of(client: Client) -> dict[str, Any]:
    keys: dict[str, Any] = client.get("/.well-known/wake-keys.json").json()
    return keys


def cosigned(made: LogCheckpoint) -> str:
    """Stores the cosignature of a witness, and returns its verifier key."""
    line = cosign(notes.text_of(made.note), name="w.example", key=WITNESS, at=1_790_000_000)
    CheckpointSending.objects.create(
        checkpoint=made, kind="witness", name="w.example", sent_at=made.made_at, result=line
    )
    return verifier_key("w.example", WITNESS)


def test_the_agent_gets_the_proof_on_request(
    caller: AgentClient, answered: str, checkpoint: Callable[[], LogCheckpoint]
) -> None:
    alone = caller.get(f"receipt/{answered}").content.decode()
    early = caller.get(f"receipt/{answered}", proof=1)
    witness = cosigned(checkpoint())

    given = caller.get(f"receipt/{answered}", proof=1)

    assert (early.status_code, early.json()["error"]["code"]) == (409, "no_proof")
    assert given["Content-Type"] == "text/plain; charset=utf-8"
    assert given["Cache-Control"] == "no-store"
    verdicts = judge(given.content.decode(), keys_of(caller.client), witness_keys=[witness])
    assert [each.value for each in verdicts.by_name().values()] == [True, True, True, None, None]
    assert verdicts.claims["delivery_id"] == answered
    assert "feedback_sha256" in verdicts.claims
    again = caller.get(f"receipt/{answered}")
    assert (again.content.decode(), again["Content-Type"]) == (alone, "application/sd-jwt")


@pytest.mark.parametrize("value", ["0", "2", "yes", ""])
def test_another_value_is_an_error(value: str, caller: AgentClient, answered: str) -> None:
    refused = caller.get(f"receipt/{answered}", proof=value)

    assert refused.status_code == 422
    (problem,) = refused.json()["error"]["fields"]
    assert problem["message"] == "Must be 1, or left out."


def test_nothing_is_proven_before_there_is_an_answer(caller: AgentClient) -> None:
    pk = caller.deliver(type="question")

    refused = caller.get(f"receipt/{pk}", proof=1)

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_answer")


def test_it_is_listed_as_an_extension(client: Client) -> None:
    assert "proof" in client.get("/wake/v1").json()["extensions"]


def test_people_download_it_with_every_disclosure(
    alices: Person, caller: AgentClient, answered: str, checkpoint: Callable[[], LogCheckpoint]
) -> None:
    path = f"/deliveries/{answered}/receipt"
    before = alices.get(path)
    checkpoint()

    download = alices.get(path)

    assert f'filename="receipt-{answered}.sd-jwt"' in before["Content-Disposition"]
    assert f'filename="receipt-{answered}.tlog-proof"' in download["Content-Disposition"]
    verdicts = judge(download.content.decode(), keys_of(caller.client))
    assert [each.value for each in verdicts.by_name().values()] == [True, True, None, None, None]
    assert verdicts.claims["person"]["name"] == "alice"
    page = alices.get(f"/deliveries/{answered}/").content.decode()
    assert "the proof that the receipt is in the log" in " ".join(page.split())


@pytest.mark.parametrize("hashes", [0, 2, 256])
def test_a_damaged_tile_leaves_the_receipt_alone(
    hashes: int,
    alices: Person,
    caller: AgentClient,
    answered: str,
    checkpoint: Callable[[], LogCheckpoint],
    caplog: pytest.LogCaptureFixture,
) -> None:
    checkpoint()
    LogTile.objects.update(hashes=b"\1" * 32 * hashes)

    refused = caller.get(f"receipt/{answered}", proof=1)
    download = alices.get(f"/deliveries/{answered}/receipt")

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "log_damaged")
    assert "Ask without proof=1" in refused.json()["error"]["message"]
    assert caller.get(f"receipt/{answered}").status_code == 200
    assert f'filename="receipt-{answered}.sd-jwt"' in download["Content-Disposition"]
    page = " ".join(alices.get(f"/deliveries/{answered}/").content.decode().split())
    assert "a part of the server&#x27;s log is damaged" in page
    line = "docs/operations.md, A damaged tile, says what to do"
    lines = [each.getMessage() for each in caplog.records if each.levelname == "CRITICAL"]
    assert len(lines) == 2
    assert all(line in each for each in lines)


def rotate(*options: str) -> None:
    call_command("rotate_receipt_key", *options, stdout=io.StringIO())


def test_a_receipt_that_was_logged_before_the_cut_goes_on_counting(
    caller: AgentClient, answered: str, checkpoint: Callable[[], LogCheckpoint]
) -> None:
    made = checkpoint()
    witness = cosigned(made)
    receipt = Receipt.objects.get()

    rotate(f"--cut={receipt.key_id}")

    given = caller.get(f"receipt/{answered}", proof=1).content.decode()
    assert Receipt.objects.get() == receipt
    keys = keys_of(caller.client)
    assert keys["keys"][1]["revoked"]["log_size"] == made.size
    verdicts = judge(given, keys, witness_keys=[witness])
    assert [each.value for each in verdicts.by_name().values()] == [True, True, True, None, None]
    assert judge(given, keys).signed.value is False
    alone = judge(caller.get(f"receipt/{answered}").content.decode(), keys)
    assert (alone.signed.value, alone.logged.value) == (False, None)


def test_a_receipt_that_was_logged_after_the_cut_counts_no_more(
    caller: AgentClient, answered: str, checkpoint: Callable[[], LogCheckpoint]
) -> None:
    receipt = Receipt.objects.get()
    ReceiptKey.objects.update(cut_at=database_now(), cut_size=300, is_current=False)
    made = checkpoint()

    forged = log_proofs.with_proof(receipt, f"{receipt.jwt}~")
    assert forged is not None
    verdicts = judge(forged, keys_of(caller.client))
    assert [each.value for each in verdicts.by_name().values()] == [False, True, None, None, None]
    assert "logged after the key was cut" in verdicts.signed.reason
    assert made.size > 308

    caller.get(f"receipt/{answered}")
    assert Receipt.objects.get() != receipt


@pytest.mark.system
def test_a_foreign_implementation_verifies_the_proof(
    caller: AgentClient, answered: str, checkpoint: Callable[[], LogCheckpoint]
) -> None:
    witness = cosigned(checkpoint())
    proof = caller.get(f"receipt/{answered}", proof=1).content.decode()
    extra = json.loads(base64.b64decode(proof.split("\n")[1].removeprefix("extra ")))
    jwt = extra["receipt"].partition("~")[0].encode()
    entry = rfc8785.dumps({**extra["entry"], "sha256": hashlib.sha256(jwt).hexdigest()})

    def checked(**other: Any) -> Any:
        asked = {
            "proof": proof,
            "entry": entry.decode(),
            "log_key": keys_of(caller.client)["log"]["keys"][0],
            "witness_keys": [witness],
            **other,
        }
        command = peers.with_environment(PEER, python="3.12")
        done = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    assert checked() == {"is_signed": True, "is_included": True}
    assert checked(entry=entry.decode() + " ") == {"is_signed": True, "is_included": False}
    stranger = verifier_key("w.example", Ed25519PrivateKey.generate())
    assert checked(witness_keys=[stranger])["is_signed"] is False
