"""Selects the newest turns of tasks, and no more of them than one answer can hold: a turn may be as
long as a request, and there may be thousands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from database.compiled_queries import CompiledQuery, list_parameter, parameter
from database.encrypted_columns import length_of
from relay.models import Message, Task

# Turns of a history without a length in the request (1.0, 3.2.4: a server may send fewer).
AT_MOST = 100
# In characters, of all tasks of an answer. A connector also gets a history, in one frame with the
# current message, and accepts no frame above 64 MB.
LONGEST = 4 * 2**20


def newest(
    tasks: Sequence[Task],
    length: int | None = None,
    *,
    without: Collection[int | None] = (),
    for_caller: bool = False,
) -> dict[UUID, list[Message]]:
    """Returns up to `length` turns of each task, oldest first, in one query. For a single task the
    newest turn is included however long it is. `without` are the ids of turns that the answer has
    elsewhere. A caller sees no turn of a person, who writes to the agent alone."""
    length = AT_MOST if length is None else min(length, AT_MOST)
    turns: dict[UUID, list[Message]] = defaultdict(list)
    if not tasks or not length:
        return turns
    excluded = [pk for pk in without if pk]
    if len(tasks) == 1:
        (task,) = tasks
        if task.only_message is not None and task.generation == 1:
            # A task that was just created has no message in its status, which `without` could name,
            # and its only turn is the caller's.
            turns[task.pk] = [task.only_message]
            return turns
        turns[task.pk] = _of_one_task(for_caller).objects(
            task=task.pk, without=excluded, length=length
        )
        return turns
    messages = _messages(for_caller).filter(task__in=tasks).exclude(pk__in=excluded)
    for message in _newest(messages, length, Q(together__lte=LONGEST // len(tasks))):
        if message.task_id:
            turns[message.task_id].append(message)
    return turns


@cache
def _of_one_task(for_caller: bool) -> CompiledQuery:  # noqa: FBT001 - the key of a cache
    """Returns the query of the newest turns of one task: every send and every run reads it."""
    messages = _messages(for_caller).filter(task=parameter("task", Message, "task"))
    messages = messages.exclude(pk__one_of=list_parameter("without", Message, "id"))
    length = parameter("length", Task, "generation")
    is_included = Q(together__lte=LONGEST) | Q(nth=1)
    return CompiledQuery(lambda: _newest(messages, length, is_included))


def _messages(for_caller: bool) -> QuerySet[Message]:  # noqa: FBT001 - as above
    messages = Message.objects.all()
    return messages.exclude(source=Message.Source.OWNER) if for_caller else messages


def _newest(messages: QuerySet[Message], length: Any, is_included: Q) -> QuerySet[Message]:
    task, backwards = F("task_id"), F("pk").desc()
    chars = Sum(length_of("parts_json") + length_of("metadata_json"))
    numbered = messages.annotate(
        nth=Window(RowNumber(), partition_by=task, order_by=backwards),
        together=Window(chars, partition_by=task, order_by=backwards),
    )
    return numbered.filter(is_included, nth__lte=length).order_by("pk")
