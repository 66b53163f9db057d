"""Checks the lists of files of a request in docs/architecture.md, in the order of first call.

`make figures` writes the lists: it runs these tests with WAKE_WRITE_FIGURES=1. Only the
last of several requests of a kind is traced, because a process remembers keys and compiled queries
after the first ones. The lists are made on PostgreSQL."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection

from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from database.clock import database_now
from relay.cards import callers, publishing
from tests.architecture import documented, flows
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.page_forms import forms_of
from tests.inbox.person import Person
from tests.relay.calling import Caller
from tests.types import MakeDelivery
from tests.wake.callbacks.receiver import Receiver
from wake import responses
from wake.asgi import application as stream
from wake.callbacks import sending
from wake.models import CallbackHost, Delivery
from wake.server.http.body_limit import BodyLimit
from wake.server.http.headers import HyphenatedHeaders
from wake.server.http.request_threads import RequestThreads
from wake.server.http.request_turns import RequestTurns
from wake.server.http.slow_readers import SlowReaders
from wake.wsgi import application as wsgi

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite has no pool, and stores in steps"
    ),
]

HINT = "Run `make figures`: the files of a request have changed."
REQUESTS = ("deliver", "list", "send", "answer")
PAGES = ("list", "delivery", "answer")
# No list may grow (docs/decisions/0074-how-many-files-a-request-passes.md).
MAX_FILES = {
    "every request": 16,
    "every page": 13,
    "deliver": 24,
    "list": 33,
    "send": 36,
    "answer": 21,
    "callback": 26,
}


def web() -> HyphenatedHeaders:
    """Builds the application of wake/server/web.py. The threads of the application start with its
    first request, and the trace can see only threads that have started."""
    in_turns = RequestTurns(RequestThreads(wsgi), number=1)
    return HyphenatedHeaders(SlowReaders(BodyLimit(in_turns)))


def test_each_way_is_as_documented(
    caller: AgentClient,
    alices: Person,
    team: Team,
    make_delivery: MakeDelivery,
    start_receiver: Callable[[], Receiver],
) -> None:
    receiver = start_receiver()
    CallbackHost.objects.create(team=team, pattern=receiver.url.split("/")[2])
    delivery = make_delivery()
    files = {
        "deliver": files_of_a_delivery(caller),
        "list": files_of_a_page("/", alices, shows=delivery),
        "delivery": files_of_a_page(f"/deliveries/{delivery.pk}/", alices, shows=delivery),
        "send": files_of_a_message(delivery.agent),
    }
    # The answer is traced last. Otherwise the list would also show the answered delivery.
    files["answer"], files["callback"] = files_of_an_answer(alices, make_delivery, receiver)

    lists = without_what_is_common(files)

    if os.environ.get("WAKE_WRITE_FIGURES"):
        for title, names in lists.items():
            documented.write(f"flow of {title}", as_markdown(names))
    documents = {title: documented.read(f"flow of {title}") for title in lists}
    assert documents == {title: as_markdown(names) for title, names in lists.items()}, HINT
    too_long = {
        title: len(names) for title, names in lists.items() if len(names) > MAX_FILES[title]
    }
    assert too_long == {}


def without_what_is_common(files: dict[str, list[str]]) -> dict[str, list[str]]:
    """Returns the files of each kind of request, without the files that every request or every page
    calls. Also returns those two lists of common files."""
    every_request = [
        file for file in files["deliver"] if all(file in files[way] for way in REQUESTS)
    ]
    every_page = [
        file
        for file in files["list"]
        if all(file in files[way] for way in PAGES) and file not in every_request
    ]
    common = {*every_request, *every_page}
    ways = (*REQUESTS, "callback")
    return {
        "every request": every_request,
        "every page": every_page,
        **{way: [file for file in files[way] if file not in common] for way in ways},
    }


def as_markdown(names: list[str]) -> str:
    return "\n".join(f"{number}. `{name}`" for number, name in enumerate(names, 1))


def files_of_a_delivery(caller: AgentClient) -> list[str]:
    first, second = web(), web()

    def deliver(server: Any, headline: str) -> flows.Answer:
        headers = {**caller.headers, "content-type": "application/json"}
        body = json.dumps(caller.payload(headline=headline)).encode()
        return flows.request(server, "POST", "/wake/v1/deliver", headers=headers, body=body)

    deliver(first, "Market report")
    with flows.traced() as files:
        answer = deliver(second, "Another market report")
    assert answer.status == 201
    return files


def files_of_a_page(path: str, person: Person, *, shows: Delivery) -> list[str]:
    first, second = web(), web()
    headers = {"cookie": cookie_of(person)}

    flows.request(first, "GET", path, headers=headers)
    with flows.traced() as files:
        answer = flows.request(second, "GET", path, headers=headers)
    assert answer.status == 200
    assert str(shows.pk) in answer.body.decode()
    return files


def files_of_a_message(agent: Agent) -> list[str]:
    card = publishing.publish(agent, by=SYSTEM, at=database_now(), description="Compares prices.")
    _, key = callers.mint(agent.team, name="Build server", by=SYSTEM)
    caller = Caller(card, "1.0", key)
    headers = {**caller.headers, "content-type": "application/json"}

    def send(message_id: str) -> flows.Answer:
        params = caller.sending("Compare them", messageId=message_id)
        message = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        body = json.dumps(message).encode()
        return flows.request(stream, "POST", caller.path, headers=headers, body=body)

    # The first message finds no card in the cache, so only the second one compiles the query of a
    # cached card.
    send("m-1")
    send("m-2")
    with flows.traced() as files:
        answer = send("m-3")
    assert json.loads(answer.body)["result"]["task"]
    return files


def files_of_an_answer(
    person: Person, make_delivery: MakeDelivery, receiver: Receiver
) -> tuple[list[str], list[str]]:
    """Returns the files of the request that answers, and the files of the worker afterwards."""
    first, second = (make_delivery(callback_webhook=receiver.url) for _ in range(2))

    approve(web(), first, person, token_on(first, person))
    work()
    server, token = web(), token_on(second, person)
    with flows.traced() as files_of_request:
        answer = approve(server, second, person, token)
    with flows.traced() as files_of_worker:
        work()
    assert answer.status == 303
    sent = [request.json["delivery_id"] for request in receiver.received]
    assert sent == [str(first.pk), str(second.pk)]
    return files_of_request, files_of_worker


def work() -> None:
    """Runs the two jobs of a worker that an answer needs, when its hold is over."""
    connection.close()  # a worker's job begins without a connection
    later = database_now() + timedelta(minutes=1)
    responses.release_due(at=later)
    sending.send_due(clock=lambda: later)


def cookie_of(person: Person) -> str:
    return "; ".join(f"{name}={one.value}" for name, one in person.client.cookies.items())


def token_on(delivery: Delivery, person: Person) -> str:
    path = f"/deliveries/{delivery.pk}/"
    page = person.get(path).content.decode()
    return next(form.token for form in forms_of(path, page) if form.token)


def approve(server: Any, delivery: Delivery, person: Person, token: str) -> flows.Answer:
    fields = {"status": "approved", "content_hash": delivery.content_hash}
    body = urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
    headers = {
        "cookie": cookie_of(person),
        "origin": "http://127.0.0.1",
        "content-type": "application/x-www-form-urlencoded",
    }
    path = f"/deliveries/{delivery.pk}/response"
    return flows.request(server, "POST", path, headers=headers, body=body)
