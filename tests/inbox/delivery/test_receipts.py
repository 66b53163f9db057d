"""People download the receipt of an answer that the agent has."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person
from tests.types import Answer, MakeDelivery, SignedIn
from wake.callbacks.attempts import claim, settle
from wake.callbacks.http_client import HttpResult
from wake.models import Receipt
from wake.proof import receipts


def test_it_is_offered_once_the_agent_has_the_answer(
    alices: Person, caller: AgentClient, answer: Answer
) -> None:
    pk = caller.deliver(type="question")
    path = f"/deliveries/{pk}/receipt"
    before = alices.get(f"/deliveries/{pk}/"), alices.get(path)
    answer(pk, feedback="Yes.")
    undoable = alices.get(f"/deliveries/{pk}/"), alices.get(path)
    assert not Receipt.objects.exists()
    caller.poll(pk)

    page, receipt = alices.get(f"/deliveries/{pk}/"), alices.get(path)

    for earlier, download in (before, undoable):
        assert path not in earlier.content.decode()
        assert (download.status_code, download["Location"]) == (303, f"/deliveries/{pk}/")
    assert f'href="{path}"' in page.content.decode()
    assert receipt.content.decode() == receipts.for_people(Receipt.objects.get())
    assert receipt["Content-Type"] == "application/sd-jwt"
    assert f'filename="receipt-{pk}.sd-jwt"' in receipt["Content-Disposition"]


def test_strangers_get_none(
    mallory: User, signed_in: SignedIn, caller: AgentClient, answer: Answer
) -> None:
    pk = caller.deliver(type="question")
    answer(pk)
    caller.poll(pk)

    assert signed_in(mallory).get(f"/deliveries/{pk}/receipt").status_code == 404
    assert not Receipt.objects.exists()


def test_a_delivery_without_an_answer_has_none(alices: Person, make_delivery: MakeDelivery) -> None:
    assert alices.get(f"/deliveries/{make_delivery().pk}/receipt").status_code == 303


def test_it_is_not_offered_while_a_sender_can_still_give_the_callback_back(
    alices: Person, make_delivery: MakeDelivery, answer: Answer, allowed_host: str
) -> None:
    delivery = make_delivery(callback_webhook=f"https://{allowed_host}/wake")
    at = answer(delivery).responded_at
    assert at is not None
    path = f"/deliveries/{delivery.pk}/receipt"

    claimed = claim(at=at)
    page, download = alices.see(delivery), alices.get(path)
    settle([(callback, HttpResult(status_code=503)) for callback in claimed], at=at)
    afterwards, receipt = alices.see(delivery), alices.get(path)

    assert path not in page.content.decode()
    assert (download.status_code, download["Location"]) == (303, f"/deliveries/{delivery.pk}/")
    assert f'href="{path}"' in afterwards.content.decode()
    assert receipt.content.decode() == receipts.for_people(Receipt.objects.get())


def test_it_is_offered_while_a_callback_is_tried_again(
    alices: Person, make_delivery: MakeDelivery, answer: Answer, allowed_host: str
) -> None:
    delivery = make_delivery(callback_webhook=f"https://{allowed_host}/wake")
    at = answer(delivery).responded_at
    assert at is not None
    settle([(callback, HttpResult(status_code=503)) for callback in claim(at=at)], at=at)

    assert len(claim(at=at + timedelta(hours=1))) == 1

    assert alices.get(f"/deliveries/{delivery.pk}/receipt").status_code == 200
