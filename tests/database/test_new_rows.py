"""A new row is the row that Django makes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import models
from django.utils import timezone

from accounts.models import Agent, AuditEvent, Team
from database.new_rows import new
from relay.models import CallerKey, Context, Message, Run, Task

pytestmark = pytest.mark.once

AT, ID = timezone.now(), uuid.uuid4()
TEAM = Team(pk=1, name="Orchard", created_at=AT)
AGENT = Agent(pk=uuid.uuid4(), team=TEAM, created_at=AT)
CALLER = CallerKey(pk=uuid.uuid4(), team=TEAM, created_at=AT)
CONTEXT = Context(pk=uuid.uuid4(), agent=AGENT)
ROWS: list[tuple[type[models.Model], dict[str, Any]]] = [
    (Context, {"id": ID, "agent": AGENT, "caller": None, "context_id": "c"}),
    (Task, {"id": ID, "agent": AGENT, "context": CONTEXT, "caller": CALLER, "network": ""}),
    (Message, {"context": CONTEXT, "task_id": ID, "source": Message.Source.CALLER}),
    (Run, {"id": ID, "agent_id": AGENT.pk, "created_at": AT}),
    (AuditEvent, {"at": AT, "event": "task.received", "detail": {"a": 1}}),
]


@pytest.mark.parametrize(("model", "values"), ROWS, ids=lambda each: getattr(each, "__name__", ""))
def test_it_has_the_fields_that_django_gives_it(
    model: type[models.Model], values: dict[str, Any]
) -> None:
    made, expected = vars(new(model, **values)), vars(model(**values))

    states = [made.pop("_state"), expected.pop("_state")]
    assert made == expected
    assert states[0].adding is states[1].adding is True
    assert states[0].fields_cache == states[1].fields_cache


def test_defaults_are_not_shared() -> None:
    first, second = new(Message), new(Message)

    first.reference_task_ids.append("t1")

    assert second.reference_task_ids == []
    assert new(Task).pk != new(Task).pk


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Task has no field 'colour'"):
        new(Task, colour="red")
