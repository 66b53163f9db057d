"""A callback carries the receipt of its answer if the delivery asks for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from database.clock import database_now
from database.encrypted_columns import Ciphertext
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from wake.callbacks.answers import start_batch
from wake.models import Callback, Receipt
from wake.proof import receipt_keys, receipts


def queued(caller: AgentClient, host: str, answer: Answer, **fields: Any) -> dict[str, str]:
    """Delivers, answers, and returns the headers of the callback."""
    webhook = f"https://{host}/wake"
    pk = caller.deliver(type="question", callback_webhook=webhook, **fields)
    answer(pk, feedback="Yes.")
    return start_batch()(Callback.objects.get(response__delivery=UUID(pk)), database_now())


def test_it_is_in_a_header(caller: AgentClient, allowed_host: str, answer: Answer) -> None:
    headers = queued(caller, allowed_host, answer, receipt=True)

    receipt = Receipt.objects.get()
    assert headers["Wake-Receipt"] == receipts.for_agent(receipt)
    assert receipts.for_agent(receipt).count("~") == 3
    fetched = caller.get(f"receipt/{receipt.response.delivery_id}").content.decode()
    assert fetched == headers["Wake-Receipt"]


def test_others_have_none(caller: AgentClient, allowed_host: str, answer: Answer) -> None:
    plain = queued(caller, allowed_host, answer)
    declined = queued(caller, allowed_host, answer, receipt=False)

    assert "Wake-Receipt" not in {**plain, **declined}
    assert not Receipt.objects.exists()


def test_an_answer_does_not_wait_for_the_signing_key(
    caller: AgentClient, allowed_host: str, answer: Answer
) -> None:
    key = receipt_keys.current_key()
    vars(key)["private_key"] = Ciphertext("of a lost key")
    key.save(update_fields=["private_key"])

    headers = queued(caller, allowed_host, answer, receipt=True)

    assert "Wake-Receipt" not in headers
    assert "X-Wake-Signature" in headers
