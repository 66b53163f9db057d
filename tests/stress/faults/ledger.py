"""Records outside the server what the server confirmed to agents and people. Compares this record
with the database."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.stress.faults.site import AgentAt
from tests.wake.callbacks.receiver import Received, Receiver


@dataclass
class Ledger:
    receivers: list[Receiver] = field(default_factory=list)
    # The ids of deliveries that agents received, by Idempotency-Key, and whether each delivery
    # wants a callback.
    acknowledged: dict[str, str] = field(default_factory=dict)
    # The answers that people saw confirmed, by the delivery's id.
    answered: dict[str, str] = field(default_factory=dict)
    with_callback: set[str] = field(default_factory=set)
    writing: threading.Lock = field(default_factory=threading.Lock)

    def record_delivery(self, once: str, pk: str, *, has_callback: bool) -> None:
        with self.writing:
            assert self.acknowledged.setdefault(once, pk) == pk, "One key, one delivery."
            if has_callback:
                self.with_callback.add(pk)

    def record_answer(self, pk: str, status: str) -> None:
        with self.writing:
            assert self.answered.setdefault(pk, status) == status, "One delivery, one answer."

    @property
    def received(self) -> list[Received]:
        return [request for receiver in self.receivers for request in list(receiver.received)]

    @property
    def missing(self) -> set[str]:
        """Returns the answers whose callback has not arrived."""
        came = {request.headers["X-Wake-Delivery-Id"] for request in self.received}
        return (self.answered.keys() & self.with_callback) - came

    def judge(self, agent: AgentAt) -> None:
        """Checks that everything acknowledged is stored, that every answer with a callback arrived
        with one constant id and byte-identical body, and that no delivery has two final answers."""
        assert len(set(self.acknowledged.values())) == len(self.acknowledged)
        bodies = one_of_each(self.received)
        assert not self.missing
        for pk in self.acknowledged.values():
            polled = agent.get(pk)
            assert polled.status_code == 200, polled.text
            final = polled.json()["status"]
            assert final == self.answered.get(pk, "pending"), pk
            if pk in bodies:
                assert bodies[pk] == polled.content
        assert bodies.keys() <= self.answered.keys()


def one_of_each(received: Iterable[Received]) -> dict[str, bytes]:
    """Returns the bodies by delivery."""
    bodies_by_id: dict[str, set[tuple[str, bytes]]] = defaultdict(set)
    for request in received:
        pk = request.headers["X-Wake-Delivery-Id"]
        assert json.loads(request.body)["delivery_id"] == pk
        bodies_by_id[pk].add((request.headers["webhook-id"], request.body))
    assert all(len(copies) == 1 for copies in bodies_by_id.values()), "One id, one body."
    ids = {webhook_id for copies in bodies_by_id.values() for webhook_id, _ in copies}
    assert len(ids) == len(bodies_by_id)
    return {pk: body for pk, copies in bodies_by_id.items() for _, body in copies}
