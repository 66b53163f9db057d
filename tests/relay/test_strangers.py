"""Callers without a key: what is read of them, and what they may leave waiting."""

from __future__ import annotations

from typing import NoReturn

import pytest
from django.http import HttpRequest

from accounts.models import ApiKey
from relay import dispatches, lifecycle
from relay.models import CallerKey, Card, Task
from tests.relay.calling import Caller
from tests.relay.machine import Machine, ask
from wake.parsers import Malformed

State = Task.State


def test_strangers_leave_room_for_each_other_and_for_callers_with_a_key(
    card: Card, caller_key: CallerKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatches, "OF_STRANGERS_AT_MOST", 3)
    monkeypatch.setattr(dispatches, "OF_A_NETWORK_AT_MOST", 2)
    for _ in range(2):
        ask(card, None, network="192.0.2.1")

    with pytest.raises(lifecycle.AgentBusy):
        ask(card, None, network="192.0.2.1")
    ask(card, None, network="192.0.2.2")
    with pytest.raises(lifecycle.AgentBusy):
        ask(card, None, network="192.0.2.3")

    assert [ask(card, caller_key, network="192.0.2.1").network for _ in range(4)] == [""] * 4


def test_nor_do_they_crowd_in_with_tasks_that_waited_for_them(
    card: Card, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatches, "OF_A_NETWORK_AT_MOST", 1)
    machine = Machine(key)
    task = ask(card, None, network="192.0.2.1")
    machine.end(machine.run(), "auth_required", text="Who are you?")
    ask(card, None, network="192.0.2.1")

    with pytest.raises(lifecycle.AgentBusy):
        ask(card, None, task_id=str(task.pk))

    assert Task.objects.get(pk=task.pk).state == State.AUTH_REQUIRED
    assert task.messages.count() == 2


def test_nothing_long_is_read_of_somebody_who_may_not_come_in(
    card: Card, newer: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[HttpRequest] = []

    def reading(request: HttpRequest) -> NoReturn:
        read.append(request)
        raise Malformed("It is long.")

    monkeypatch.setattr("relay.views._json", reading)
    long = "x" * 65_537

    refused = Caller(card).post(long)
    answered = newer.post(long)

    assert refused.status_code == 401
    assert answered.json()["error"]["code"] == -32700
    assert len(read) == 1
