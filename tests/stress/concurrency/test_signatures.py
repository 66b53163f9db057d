"""Requests with one signature come at the same time, and against a take-back."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import pytest

from accounts.models import Passkey, Team, UsedChallenge
from tests.fixtures.signers import Signer
from tests.stress.concurrency.threads import at_once, retried
from tests.types import MakeDelivery
from wake.models import Delivery, Response

pytestmark = pytest.mark.slow
ROUNDS = 3  # ten attempts a minute are allowed


@pytest.fixture(autouse=True)
def _signing_team(signing_team: Team) -> None:
    """Lets Alice sign the answers to irreversible deliveries."""


def in_another_tab(signer: Signer) -> Signer:
    """Returns the same browser, for a thread of its own."""
    tab = copy(signer)
    tab.browser = copy(signer.browser)
    tab.browser.cookies = copy(signer.browser.cookies)
    return tab


def posting(signer: Signer, delivery: Delivery, credential: str) -> Any:
    tab = in_another_tab(signer)
    return partial(retried, partial(tab.send, delivery, credential=credential))


def test_of_two_requests_with_one_signature_one_counts(
    signing_alice: Signer, make_delivery: MakeDelivery
) -> None:
    for _ in range(ROUNDS):
        delivery = make_delivery(irreversible=True)
        credential = signing_alice.credential(delivery)
        used = UsedChallenge.objects.count()

        answers = at_once(*[posting(signing_alice, delivery, credential) for _ in range(3)])

        assert Response.objects.get(delivery=delivery).place == "passkey"
        assert UsedChallenge.objects.count() == used + 1
        # A request that comes too late finds that there is an answer, or that its challenge is used
        # up.
        assert {answer.status_code for answer in answers} <= {303, 422}
        assert 303 in {answer.status_code for answer in answers}


def test_a_take_back_leaves_no_signature_that_counts_again(
    signing_alice: Signer, make_delivery: MakeDelivery
) -> None:
    for _ in range(ROUNDS):
        delivery = make_delivery(irreversible=True)
        credential = signing_alice.credential(delivery)
        signing_alice.send(delivery, credential=credential)
        tab = in_another_tab(signing_alice)

        at_once(
            partial(retried, partial(tab.undo, delivery)),
            posting(signing_alice, delivery, credential),
            posting(signing_alice, delivery, credential),
        )

        # The take-back always wins, because the signature was used already.
        assert not Response.objects.filter(delivery=delivery).exists()


def test_a_passkey_that_is_removed_meanwhile_signs_before_or_never(
    signing_alice: Signer, make_delivery: MakeDelivery
) -> None:
    for _ in range(ROUNDS):
        delivery = make_delivery(irreversible=True)
        credential = signing_alice.credential(delivery)
        stored = Passkey.objects.get()

        at_once(
            Passkey.objects.filter(pk=stored.pk).delete,
            posting(signing_alice, delivery, credential),
        )

        response = Response.objects.filter(delivery=delivery).first()
        assert response is None or response.signature_json
        stored.save(force_insert=True)
