"""Serves a World, and imitates the agents and people who call it over HTTP."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.fixtures.served import Server
from tests.wake.callbacks.world import AGENT, World

PASSWORD = "correct horse battery"
GENEROUS = {"WAKE_QUOTA_LIVE": "36000000/10000000", "WAKE_READS_PER_MINUTE": "1000000"}


@dataclass
class Site(World):
    webs: list[Server] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        ours = {
            "DJANGO_SETTINGS_MODULE": "tests.fixtures.served_settings",
            "WAKE_TEST_DATABASE": self.database_url.rpartition("/")[2],
        }
        return {**super().env, **GENEROUS, **ours}

    def start_web(
        self, interface: str = "wsgi", processes: int = 1, /, **environment: str
    ) -> Server:
        self.webs.append(Server(interface, processes, **(self.env | environment)))
        self.webs[-1].start()
        return self.webs[-1]

    def end(self) -> None:
        for web in self.webs:
            with suppress(ProcessLookupError):
                web.kill()
        super().end()


class AgentAt:
    """Asks as the specification's clients do, and keeps every status code that it got."""

    def __init__(
        self,
        origin: str,
        key: str,
        *,
        agent_id: str = AGENT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.agent_id = agent_id
        headers = {"Authorization": f"Bearer {key}"}
        self.client = httpx.Client(
            base_url=origin, headers=headers, timeout=60, transport=transport
        )
        self.codes: Counter[int] = Counter()

    def post(self, *, once: str = "", callback: str = "", **fields: Any) -> httpx.Response:
        body = {
            "agent_id": self.agent_id,
            "provider": "claude",
            "type": "question",
            "headline": "Ship it?",
            "summary": "Everything is green.",
            **({"callback_webhook": callback} if callback else {}),
            **fields,
        }
        headers = {"Idempotency-Key": once} if once else {}
        return self._recorded(self.client.post("/wake/v1/deliver", json=body, headers=headers))

    def deliver(self, *, once: str, callback: str = "", **fields: Any) -> str:
        """Repeats with the same Idempotency-Key until it receives an id."""
        while True:
            try:
                answer = self.post(once=once, callback=callback, **fields)
            except httpx.TransportError:
                time.sleep(0.1)
                continue
            if answer.status_code != 503:
                return str(answer.raise_for_status().json()["delivery_id"])
            time.sleep(0.1)

    def get(self, pk: str, **query: str) -> httpx.Response:
        return self._recorded(self.client.get(f"/wake/v1/response/{pk}", params=query))

    def sweep(self, **query: str) -> httpx.Response:
        return self._recorded(self.client.get("/wake/v1/responses", params=query))

    def _recorded(self, answer: httpx.Response) -> httpx.Response:
        self.codes[answer.status_code] += 1
        return answer


class PersonAt:
    """Imitates Alice in a browser without JavaScript."""

    def __init__(
        self,
        origin: str,
        email: str = "alice@example.com",
        password: str = PASSWORD,
        *,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.client = httpx.Client(base_url=origin, timeout=60, transport=transport)
        # The page sets the CSRF cookie. A server that is busy with its start asks to come again.
        while self.client.get("/login/").status_code == 503:
            time.sleep(0.2)
        signed_in = self.post("/login/", username=email, password=password, next="/")
        assert signed_in.status_code in {302, 303}, signed_in.text

    def post(self, path: str, **fields: str) -> httpx.Response:
        token = self.client.cookies["csrftoken"]
        return self.client.post(path, data={"csrfmiddlewaretoken": token, **fields})

    def read(self, pk: str) -> httpx.Response:
        return self.client.get(f"/deliveries/{pk}/")

    def answer(self, pk: str, status: str = "approved", feedback: str = "") -> httpx.Response:
        """Answers the content that the page shows."""
        content_hash = hash_in(self.read(pk).text)
        return self.send(pk, content_hash=content_hash, status=status, feedback=feedback)

    def send(self, pk: str, **form: str) -> httpx.Response:
        return self.post(f"/deliveries/{pk}/response", **form)


def hash_in(page: str) -> str:
    """Returns the hash of the content that a form on this page answers, or an empty text if there
    is no form."""
    match = re.search(r'name="content_hash" value="(\w+)"', page)
    return match[1] if match else ""
