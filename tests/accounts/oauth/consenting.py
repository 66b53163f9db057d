"""Plays the person whose browser a client opens, at a server in another process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx
from django.conf import settings

from accounts.models import Agent, User
from tests.fixtures.page_forms import TOKEN, forms_of
from tests.fixtures.served import Server
from tests.inbox.person import Person


@contextmanager
def served_at_its_origin(interface: str) -> Iterator[str]:
    """Runs a server that knows its own address, because tokens are for one address only. Returns
    the address."""
    server = Server(interface)
    server.environment["WAKE_ORIGIN"] = server.origin
    server.start()
    try:
        yield server.origin
    finally:
        server.stop()


class Consent:
    """Has the session of a signed-in person, and connects clients as one agent."""

    def __init__(self, person: User, agent: Agent) -> None:
        session = Person(person).client.cookies[settings.SESSION_COOKIE_NAME].value
        self.cookies = {settings.SESSION_COOKIE_NAME: session}
        self.agent = str(agent.pk)

    def give(self, address: str) -> str:
        """Opens the page, sends its form, and returns the address that the browser goes back to."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        with httpx.Client(cookies=self.cookies, timeout=60) as browser:
            page = browser.get(address)
            assert page.status_code == 200, page.text
            token = next(form.token for form in forms_of(address, page.text) if form.token)
            fields = {TOKEN: token, "agent": self.agent, "days": "30", "decision": "connect"}
            answer = browser.post(address, data=fields, headers={"Origin": origin})
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]


def parameters_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
