"""Makes all checks of one run. All windows start first, and are judged when their time has come."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Generator, Iterable, Set
from dataclasses import dataclass, field
from typing import Any

from wake_check.clock import Clock
from wake_check.episodes import Episode
from wake_check.exchanges import Exchange
from wake_check.people import People, Wish
from wake_check.receiver import Receiver
from wake_check.requirements import Requirement
from wake_check.server import OWN, Server
from wake_check.verdicts import Broken, NotJudged, Result, Verdict

TICK_SECONDS = 0.25
QUOTA_USED = "The server limits the agent's key now: run the kit again later."
MAX_RETRY_AFTER_SECONDS = 60
HEADLINE = "Conformance check {number}: {what}"
PLAIN = "a plain delivery"
MAY_STAY_UNANSWERED = "No answer is needed: this delivery only checks the protocol."


@dataclass(frozen=True)
class Until:
    """A check yields this to wait until the condition is true, at most this many seconds."""

    condition: Callable[[], bool]
    within: float


Steps = Generator[Until, None, None]
Check = Callable[["Run"], Steps | None]


@dataclass
class _Task:
    requirement: Requirement
    steps: Steps
    waits_for: Until
    ends_at: float


@dataclass
class Run:
    """Gives a check the server, the person, the receiver of callbacks and the clock."""

    server: Server
    people: People
    receiver: Receiver
    clock: Clock
    agent_id: str
    secret: str = ""  # the signing secret of callbacks
    other_agent_id: str = ""
    plain_http: str = ""  # where the server must refuse requests without TLS
    patience: float = 60.0  # seconds that a person and the hold of an answer may take
    capabilities: dict[str, Any] = field(default_factory=dict)
    bodies: list[Exchange] = field(default_factory=list)  # receipts and answers of the whole run
    name: str = field(default_factory=lambda: secrets.token_hex(4))
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _episodes: dict[str, Episode] = field(default_factory=dict)
    _samples: dict[str, Exchange] = field(default_factory=dict)
    _sent_at: dict[str, float] = field(default_factory=dict)
    _number: int = 0

    def judge(
        self,
        requirements: Iterable[Requirement],
        checks: dict[str, Check],
        last: dict[str, Check],
    ) -> list[Verdict]:
        """Returns one verdict for each requirement, in their order. The checks of `last` look at
        what the others have seen."""
        requirements = list(requirements)
        for requirement in requirements:
            if reason := self._why_not(requirement, checks.keys() | last.keys()):
                self._verdicts[requirement.id] = Verdict(requirement, Result.NOT_JUDGED, reason)
        left = [each for each in requirements if each.id not in self._verdicts]
        windows = [each for each in left if inspect.isgeneratorfunction(checks.get(each.id))]
        others = [each for each in left if each.id in checks and each not in windows]
        waiting = [
            task for each in windows if (task := self._go_on(each, _steps(checks[each.id], self)))
        ]
        for each in others:
            self._go_on(each, _steps(checks[each.id], self))
        while waiting:
            waiting = self._wait(waiting)
        for each in left:
            if each.id in last:
                self._go_on(each, _steps(last[each.id], self))
        return [self._verdicts[requirement.id] for requirement in requirements]

    def _why_not(self, requirement: Requirement, known: Set[str]) -> str:
        if requirement.party == "agent":
            return "It binds agents, and this kit judges servers."
        if requirement.extension and requirement.extension not in self.extensions:
            return f"The server does not declare the extension {requirement.extension}."
        return "" if requirement.id in known else "This version of the kit has no check for it."

    def _wait(self, waiting: list[_Task]) -> list[_Task]:
        """Goes on with the tasks whose time has come. Returns the tasks that still wait."""
        ready = [task for task in waiting if self._is_ready(task)]
        if not ready:
            self.clock.sleep(TICK_SECONDS)
        still = [task for task in waiting if task not in ready]
        return still + [
            again for task in ready if (again := self._go_on(task.requirement, task.steps))
        ]

    def _is_ready(self, task: _Task) -> bool:
        if self.clock.now() >= task.ends_at:
            return True
        try:
            return task.waits_for.condition()
        except (Broken, NotJudged):
            return True  # the check meets the same fault, and reports it

    def _go_on(self, requirement: Requirement, steps: Steps) -> _Task | None:
        """Runs the check until it has to wait, or until it has a verdict."""
        try:
            waits_for = next(steps)
        except StopIteration:
            verdict = Verdict(requirement, Result.PASS)
        except NotJudged as reason:
            verdict = Verdict(requirement, Result.NOT_JUDGED, str(reason))
        except Broken as broken:
            verdict = Verdict(requirement, Result.FAIL, str(broken), broken.exchange)
        else:
            return _Task(requirement, steps, waits_for, self.clock.now() + waits_for.within)
        self._verdicts[requirement.id] = verdict
        return None

    @property
    def extensions(self) -> list[str]:
        declared = self.capabilities.get("extensions")
        names = declared if isinstance(declared, list) else []
        return [name for name in names if isinstance(name, str)]

    def limit(self, *names: str) -> Any:
        """Returns a limit that the server declares, or None."""
        value: Any = self.capabilities.get("limits")
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def payload(self, **fields: Any) -> dict[str, Any]:
        """Returns the body of a delivery. A field that is `...` is left out."""
        self._number += 1
        what = fields.pop("what", "a delivery")
        body = {
            "agent_id": self.agent_id,
            "provider": "wake-check",
            "type": "output",
            "headline": HEADLINE.format(number=self._number, what=what),
            "summary": MAY_STAY_UNANSWERED,
            **fields,
        }
        return {name: value for name, value in body.items() if value is not ...}

    def post(self, body: Any, *, key: str = OWN, **headers: str) -> Exchange:
        """Sends a delivery."""
        exchange = self.post_patiently("deliver", body, key=key, **headers)
        if exchange.status == 201:
            self.bodies.append(exchange)
        return exchange

    def post_patiently(self, path: str, body: Any, *, key: str = OWN, **headers: str) -> Exchange:
        """Waits once if the server limits the agent's own key, which earlier runs may have used.
        Raises NotJudged if that does not help."""
        exchange = self.server.post(path, body, key=key, **headers)
        seconds = exchange.answer_headers.get("retry-after", "")
        if exchange.status != 429 or key != OWN:
            return exchange
        if seconds.isdigit() and int(seconds) <= MAX_RETRY_AFTER_SECONDS:
            self.clock.sleep(int(seconds))
            exchange = self.server.post(path, body, key=key, **headers)
        if exchange.status == 429:
            raise NotJudged(QUOTA_USED)
        return exchange

    def deliver(self, **fields: Any) -> Exchange:
        """Sends a delivery that is not itself the subject of the check. Raises NotJudged if the
        server refuses it."""
        return _accepted(self.post(self.payload(**fields)))

    def sample(self, name: str, *, key: str = OWN, **fields: Any) -> Exchange:
        """Sends a delivery the first time that it is asked for, so that several checks share it."""
        if name not in self._samples:
            self._sent_at[name] = self.clock.now()
            self._samples[name] = self.post(self.payload(what=name, **fields), key=key)
        return self._samples[name]

    def shared(self, name: str = PLAIN, **fields: Any) -> Exchange:
        """Returns the receipt of a delivery that several checks share. Raises NotJudged if the
        server refused it."""
        return _accepted(self.sample(name, **fields))

    def seconds_since(self, name: str) -> float:
        """Returns how long ago the shared delivery was sent."""
        return self.clock.now() - self._sent_at[name]

    def poll(self, delivery_id: str, **query: Any) -> Exchange:
        exchange = self.server.get(f"response/{delivery_id}", **query)
        self.bodies.append(exchange)
        return exchange

    def sweep(self, **query: Any) -> Exchange:
        exchange = self.server.get("responses", **query)
        self.bodies.append(exchange)
        return exchange

    def ask(self, delivery_id: str, headline: str, answer: dict[str, Any]) -> Wish:
        wish = Wish({"wish": "answer", "delivery_id": delivery_id, "headline": headline, **answer})
        self.people.ask(wish)
        return wish

    def look(self, delivery_id: str, markup: str) -> Wish:
        """Asks the person whether the page of the delivery shows the markup as text."""
        wish = Wish({"wish": "look", "delivery_id": delivery_id, "markup": markup})
        self.people.ask(wish)
        return wish

    def episode(self, name: str, answer: dict[str, Any], **fields: Any) -> Episode:
        """Returns the delivery of this name, which a person answers. Delivers it the first time."""
        if name not in self._episodes:
            self._number += 1
            headline = HEADLINE.format(number=self._number, what=in_words(answer))
            given = {"headline": headline, "summary": "Please answer as the headline says."}
            self._episodes[name] = Episode(self, {**given, **fields}, answer)
        return self._episodes[name]

    def until(self, condition: Callable[[], bool], *, within: float | None = None) -> Until:
        return Until(condition, self.patience if within is None else within)

    def after(self, seconds: float) -> Until:
        return Until(lambda: False, seconds)


def _steps(check: Check, run: Run) -> Steps:
    """Makes a check without windows look like one with windows."""
    steps = check(run)
    if steps is not None:
        yield from steps


def _accepted(receipt: Exchange) -> Exchange:
    if receipt.status == 201 and isinstance(receipt.members.get("delivery_id"), str):
        return receipt
    raise NotJudged(f"It needs a delivery, and the server answered with {receipt.status}.")


def in_words(answer: dict[str, Any]) -> str:
    """Says what the person shall do, in words that fit into a headline."""
    verb = {"approved": "approve", "rejected": "reject", "redirected": "redirect"}
    words = f"please {verb[answer['status']]}"
    if answer.get("edited_content") is not None:
        words += " with an edit"
    if answer.get("feedback"):
        words += f", and write “{answer['feedback']}”"
    return words
