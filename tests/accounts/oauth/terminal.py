"""Imitates a terminal that signs in (RFC 8628), and asks the server by HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from accounts.models import Agent, User
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

FORM = "application/x-www-form-urlencoded"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"


class Terminal:
    """Asks for a code when it is made. `code` is the code that a person types."""

    def __init__(self, machine: str = "olga-laptop", **fields: str) -> None:
        self.client = Client(raise_request_exception=False)
        self.begun = self.ask(machine=machine, **fields).json()
        self.code: str = self.begun["user_code"]
        self.device_code: str = self.begun["device_code"]

    def ask(self, **fields: str) -> Any:
        return self._post("/oauth/device", {"client_id": "wake-client", **fields})

    def poll(self, **fields: str) -> Any:
        given = {
            "grant_type": DEVICE_CODE,
            "client_id": "wake-client",
            "device_code": self.device_code,
            **fields,
        }
        return self._post("/oauth/token", given)

    def _post(self, path: str, fields: dict[str, str]) -> Any:
        return self.client.post(path, urlencode(fields), content_type=FORM)


def open_link(person: User, code: str) -> Any:
    return Person(person).client.get("/device/", {"code": code})


def connect(person: User, code: str, agent: Agent) -> Any:
    fields = {"agent": str(agent.pk), "days": "30", "decision": "connect"}
    return decide(person, {"code": code, **fields})


def refuse(person: User, code: str) -> Any:
    return decide(person, {"code": code, "decision": "refuse"})


def decide(person: User, fields: dict[str, str]) -> Any:
    browser = Person(person).client
    browser.get("/device/", {"code": fields["code"]})
    return browser.post("/device/", fields)


def error_of(answer: Any) -> str:
    assert answer.status_code == 400, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    return str(answer.json()["error"])
