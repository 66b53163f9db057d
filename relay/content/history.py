"""Selects the newest turns of tasks, but no more than one answer can hold. A turn may be as long as
a request, and a task may have thousands of turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from database.encrypted_columns import length_of
from relay.models import Message, Task

# How many turns a history has if the request names no length (1.0, 3.2.4: a server may send fewer).
MAX_HISTORY = 100
# In characters, for all tasks of an answer together. A connector also gets a history, in one frame
# with the current message, and accepts no frame above 64 MB.
LONGEST = 4 * 2**20


def newest(
    tasks: Sequence[Task],
    length: int | None = None,
    *,
    without: Collection[int | None] = (),
    for_caller: bool = False,
) -> dict[UUID, list[Message]]:
    """Returns up to `length` turns of each task, oldest first, in one query. For a single task the
    newest turn is included, even if it is too long. `without` has the ids of turns that the answer
    contains elsewhere. A caller sees no turn of a person, because people write only to the
    agent."""
    length = MAX_HISTORY if length is None else min(length, MAX_HISTORY)
    turns: dict[UUID, list[Message]] = defaultdict(list)
    if not tasks or not length:
        return turns
    excluded = [pk for pk in without if pk]
    if len(tasks) == 1:
        (task,) = tasks
        if task.only_message is not None and task.generation == 1:
            # A new task has no message in its status that `without` could name. The only turn of a
            # new task is the caller's.
            turns[task.pk] = [task.only_message]
            return turns
    messages = Message.objects.filter(task__in=tasks).exclude(pk__in=excluded)
    if for_caller:
        messages = messages.exclude(source=Message.Source.OWNER)
    is_included = Q(together__lte=LONGEST // len(tasks))
    if len(tasks) == 1:
        is_included |= Q(nth=1)
    for message in _newest(messages, length, is_included):
        if message.task_id:
            turns[message.task_id].append(message)
    return turns


def _newest(messages: QuerySet[Message], length: int, is_included: Q) -> QuerySet[Message]:
    task, backwards = F("task_id"), F("pk").desc()
    chars = Sum(length_of("parts_json") + length_of("metadata_json"))
    numbered = messages.annotate(
        nth=Window(RowNumber(), partition_by=task, order_by=backwards),
        together=Window(chars, partition_by=task, order_by=backwards),
    )
    return numbered.filter(is_included, nth__lte=length).order_by("pk")
