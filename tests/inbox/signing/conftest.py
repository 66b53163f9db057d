"""Provides people who sign answers with the passkey of their phone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from accounts.models import Team, User
from tests.fixtures.authenticator import Authenticator, add_passkey, browser_at_localhost
from tests.fixtures.strict_client import Client
from tests.types import MakeDelivery
from wake.models import Delivery


@dataclass
class Signer:
    """Acts as a person at the host of passkeys, with a passkey on their phone."""

    user: User
    phone: Authenticator = field(default_factory=Authenticator)
    has_passkey: bool = True

    def __post_init__(self) -> None:
        self.browser: Client = browser_at_localhost(self.user)
        if self.has_passkey:
            add_passkey(self.browser, self.phone)

    def see(self, delivery: Delivery) -> Any:
        return self.browser.get(f"/deliveries/{delivery.pk}/")

    def send(self, delivery: Delivery, status: str = "approved", **fields: Any) -> Any:
        """Posts the form of the page, without a signature unless `credential` is given."""
        path = f"/deliveries/{delivery.pk}/response"
        return self.browser.post(path, self._form(delivery, status, fields))

    def credential(self, delivery: Delivery, status: str = "approved", **fields: Any) -> str:
        """Signs an answer with the phone, and returns what the page's script posts."""
        path = f"/deliveries/{delivery.pk}/response"
        form = self._form(delivery, status, fields)
        self.browser.post(path, form)  # shows the page with the button
        options = self.browser.post(f"{path}/options", form)
        assert options.status_code == 200, options.content
        return json.dumps(self.phone.get(options.json()))

    def sign(self, delivery: Delivery, status: str = "approved", **fields: Any) -> Any:
        credential = self.credential(delivery, status, **fields)
        return self.send(delivery, status, credential=credential, **fields)

    def undo(self, delivery: Delivery) -> Any:
        return self.browser.post(f"/deliveries/{delivery.pk}/undo")

    def _form(self, delivery: Delivery, status: str, fields: dict[str, Any]) -> dict[str, Any]:
        return {"status": status, "content_hash": delivery.content_hash, **fields}


@pytest.fixture
def signing_team(team: Team) -> Team:
    """Returns the team, in which approvals of irreversible deliveries are signed."""
    Team.objects.update(signs_irreversible=True)
    team.refresh_from_db()
    return team


@pytest.fixture
def irreversible(signing_team: Team, make_delivery: MakeDelivery) -> Delivery:
    return make_delivery(irreversible=True, details_json='{"amount": 180}')


@pytest.fixture
def signing_alice(alice: User) -> Signer:
    return Signer(alice)


@pytest.fixture
def signing_bob(bob: User) -> Signer:
    return Signer(bob)
