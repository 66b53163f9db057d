""" "The test of every decision: the specification's own client code, unchanged, works against this
server." (docs/protocol.md)

The snippets in clients/ are the specification's. The snippets run against a server that listens, in
a namespace of their own. Only `time.sleep` is replaced, so that people answer meanwhile.
"""

from __future__ import annotations

import builtins
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.agents import keys, signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey
from tests.types import Answer, MakeDelivery
from wake.callbacks.signatures import sign
from wake.models import Delivery

pytestmark = pytest.mark.slow

CLIENTS = Path(__file__).parent / "clients"


class Enough(Exception):
    """The program has polled as often as the test wants to see."""


class Program:
    """Runs one of the specification's programs, and records what the program called."""

    def __init__(self, name: str) -> None:
        self.source = (CLIENTS / f"{name}.txt").read_text()
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.slept: list[float] = []
        self.meanwhile: Callable[[], Any] = lambda: None
        self.most_polls = 100
        self.names: dict[str, Any] = {
            "__builtins__": {**vars(builtins), "__import__": self._import},
            "httpx": httpx,
            "time": SimpleNamespace(sleep=self._sleep),
        }

    def may_call(self, *names: str) -> None:
        for name in names:
            self.names[name] = lambda *given, name=name: self.calls.append((name, given))

    def run(self) -> dict[str, Any]:
        exec(compile(self.source, "specification", "exec"), self.names)  # noqa: S102
        return self.names

    def _import(self, name: str, *rest: Any) -> Any:
        return self.names["time"] if name == "time" else __import__(name, *rest)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) >= self.most_polls:
            raise Enough
        self.meanwhile()


@pytest.fixture
def environment(
    live_server: LiveServer, agent: Agent, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Sets the variables that each of the documents requires. The two documents mean different
    things by WAKE_ENDPOINT."""

    def set_up(prefix: str) -> None:
        monkeypatch.setenv("WAKE_ENDPOINT", f"{live_server.url}{prefix}")
        monkeypatch.setenv("WAKE_API_KEY", key.text)  # type: ignore[attr-defined]
        monkeypatch.setenv("WAKE_AGENT_ID", agent.agent_id)

    return set_up


ANSWERS: list[tuple[str, dict[str, str]]] = [
    ("approved", {"feedback": "Great work."}),
    ("rejected", {"feedback": "Not this quarter."}),
    ("redirected", {"feedback": "Cut section 3.", "edited_json": '{"updated_brief": "..."}'}),
]
WHITEPAPER_CALLS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "approved": [("proceed_with_next_step", ())],
    "rejected": [("handle_rejection", ("Not this quarter.",))],
    "redirected": [("incorporate_edits", ({"updated_brief": "..."}, "Cut section 3."))],
}
SPEC_CALLS: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "approved": [("proceed", ())],
    "rejected": [("handle", ("Not this quarter.",))],
    "redirected": [("incorporate", ({"updated_brief": "..."},))],
}


@pytest.mark.parametrize(("status", "words"), ANSWERS)
def test_the_whitepapers_minimal_example(
    environment: Callable[[str], None],
    answer: Answer,
    status: str,
    words: dict[str, str],
) -> None:
    environment("")  # "{WAKE_URL}/wake/v1/deliver"
    program = Program("whitepaper-minimal")
    program.may_call("proceed_with_next_step", "handle_rejection", "incorporate_edits")
    program.meanwhile = lambda: answer(Delivery.objects.get(), status, **words)

    program.run()

    assert program.calls == WHITEPAPER_CALLS[status]
    assert program.slept == [60]
    assert Delivery.objects.get().details == {"report_url": "https://...", "word_count": 3200}


@pytest.mark.parametrize(("status", "words"), ANSWERS)
def test_the_quickstart(
    environment: Callable[[str], None],
    answer: Answer,
    status: str,
    words: dict[str, str],
) -> None:
    environment("/wake/v1")  # "{WAKE_ENDPOINT}/deliver"
    program = Program("spec-quickstart")
    program.may_call("proceed", "handle", "incorporate", "proceed_with_assumptions")
    program.meanwhile = lambda: answer(Delivery.objects.get(), status, **words)

    program.run()

    assert program.calls == SPEC_CALLS[status]
    assert Delivery.objects.get().timeout_seconds == 3600


def test_the_quickstart_continues_after_a_timeout(environment: Callable[[str], None]) -> None:
    """ "timeout -> proceed with clearly documented assumptions" """
    environment("/wake/v1")
    program = Program("spec-quickstart")
    program.may_call("proceed", "handle", "incorporate", "proceed_with_assumptions")

    program.run()

    assert program.calls == [("proceed_with_assumptions", ())]
    assert program.slept == [60] * 60


def test_the_quickstart_does_not_see_a_held_answer(
    environment: Callable[[str], None], answer: Answer, settings: Any
) -> None:
    settings.WAKE_HOLD_SECONDS = 3600
    environment("/wake/v1")
    program = Program("spec-quickstart")
    program.may_call("proceed", "handle", "incorporate", "proceed_with_assumptions")
    program.meanwhile = lambda: answer(Delivery.objects.get(), held=True)
    program.most_polls = 3

    with pytest.raises(Enough):
        program.run()

    assert program.calls == []


def test_the_bulk_polling_loop_dispatches_every_answer_once(
    environment: Callable[[str], None],
    live_server: LiveServer,
    key: ApiKey,
    answer: Answer,
    make_delivery: MakeDelivery,
) -> None:
    """ "Use next_since as the since parameter on the next request to retrieve only new responses —
    this avoids reprocessing items already handled." """
    deliveries = [make_delivery() for _ in range(5)]
    waiting = iter(deliveries)
    program = Program("spec-bulk-loop")
    dispatched: list[tuple[str, str]] = []
    running = _Countdown(8)

    def answer_one() -> None:
        running.tick()
        if (delivery := next(waiting, None)) is not None:
            answer(delivery, "rejected", feedback="No.")

    program.meanwhile = answer_one
    program.names.update(
        WAKE_ENDPOINT=f"{live_server.url}/wake/v1",
        HEADERS={"Authorization": f"Bearer {key.text}"},  # type: ignore[attr-defined]
        agent_id="research-agent-01",
        agent_is_running=running,
        poll_interval=60,
        dispatch_response=lambda pk, item: dispatched.append((pk, item["status"])),
    )

    program.run()

    assert dispatched == [(str(delivery.pk), "rejected") for delivery in deliveries]


class _Countdown:
    """Is true until tick() was called `times` times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def tick(self) -> None:
        self.times -= 1

    def __bool__(self) -> bool:
        return self.times > 0


def _deliver_with_retry(live_server: LiveServer, text: str) -> Program:
    program = Program("spec-deliver-with-retry")
    program.names.update(
        WAKE_ENDPOINT=f"{live_server.url}/wake/v1",
        HEADERS={"Authorization": f"Bearer {text}", "Content-Type": "application/json"},
    )
    return program


def test_deliver_with_retry_succeeds_after_retry_after(
    live_server: LiveServer, agent: Agent, caller: Any
) -> None:
    """ "When a limit is exceeded the endpoint returns 429 Too Many Requests with a Retry-After
    header. Respect it" """
    row, text = keys.mint(agent, by=SYSTEM, mode="test")
    program = _deliver_with_retry(live_server, text)
    deliver = program.run()["deliver_with_retry"]
    for _ in range(5):
        deliver(caller.payload())

    def pass_the_time() -> None:
        row.refresh_from_db()
        row.quota_us -= int(program.slept[-1] * 1_000_000)
        row.save(update_fields=["quota_us"])

    program.meanwhile = pass_the_time

    assert deliver(caller.payload())["status"] == "received"
    assert len(program.slept) == 1


def test_deliver_with_retry_gives_up_without_waiting(
    live_server: LiveServer, agent: Agent, caller: Any
) -> None:
    """ "Still failing after retries — surface an alert, don't loop" """
    _, text = keys.mint(agent, by=SYSTEM, mode="test")
    deliver = _deliver_with_retry(live_server, text).run()["deliver_with_retry"]
    for _ in range(5):
        deliver(caller.payload())

    with pytest.raises(Exception, match="Rate limit exceeded after retries"):
        deliver(caller.payload())


def test_a_client_outlives_a_read_limit(
    environment: Callable[[str], None], settings: Any, answer: Answer
) -> None:
    """A 429 "on the two GETs also carries what they index"."""
    settings.WAKE_READS_PER_MINUTE = 0
    environment("/wake/v1")
    program = Program("spec-quickstart")
    program.may_call("proceed", "handle", "incorporate", "proceed_with_assumptions")

    def lift_the_limit() -> None:
        if len(program.slept) == 5:
            settings.WAKE_READS_PER_MINUTE = 1000
            answer(Delivery.objects.get())

    program.meanwhile = lift_the_limit

    program.run()

    assert program.calls == [("proceed", ())]
    assert len(program.slept) == 5


def test_a_401_reaches_the_agent_of_the_system_prompt(
    environment: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "If you receive 401: stop, deliver a "question" asking the human to rotate the key." """
    environment("/wake/v1")
    monkeypatch.setenv("WAKE_API_KEY", "wk_live_a1b2c3d4e5f6")

    with pytest.raises(httpx.HTTPStatusError, match="401"):
        Program("spec-quickstart").run()


def test_the_webhook_verifiers_accept_only_our_signature(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Reject any request where the signature does not match." """
    body = b'{"delivery_id": "550e8400-e29b-41d4-a716-446655440000"}'
    (secret,) = signing_secrets.secrets_of(agent.pk)
    signed = sign(body, secrets=[secret], message_id="550e8400", at=timezone.now())
    header = signed["X-Wake-Signature"]
    monkeypatch.setenv("WAKE_WEBHOOK_SECRET", secret)
    program = Program("spec-verify-webhook")
    verifier, handler = program.source.split("# In your handler:\n")
    program.source = f"{verifier}def handler(request):\n{textwrap.indent(handler, '    ')}"

    spec = program.run()
    whitepaper = Program("whitepaper-verify-webhook").run()["verify_webhook"]

    def request(**changed: Any) -> Any:
        return SimpleNamespace(**{"body": body, "headers": {"X-Wake-Signature": header}, **changed})

    assert spec["handler"](request()) is None
    assert spec["handler"](request(body=body + b" ")) == 401
    assert whitepaper(secret, body, header)
    assert not whitepaper(secret + "x", body, header)
