"""The turns of tasks, the newest ones, and not more of them than one answer can hold: each may be
as long as a request, and there may be thousands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from relay.models import Message, Task
from wake.models.content import length_of

# Of a history nobody asked to be shorter (1.0, 3.2.4: a server may send fewer).
AT_MOST = 100
# In characters, of all tasks of an answer together. A connector, too, is sent a history, in one
# frame with the message of now, and takes no frame of more than 64 MB.
LONGEST = 4 * 2**20


def newest(
    tasks: Sequence[Task], length: int | None = None, *, without: Collection[int | None] = ()
) -> dict[UUID, list[Message]]:
    """Up to `length` of each, oldest first, in one query for all of them; of one task alone the
    newest is there however long it is. `without` are the ids of those that are said elsewhere."""
    length = AT_MOST if length is None else min(length, AT_MOST)
    found: dict[UUID, list[Message]] = defaultdict(list)
    if not tasks or not length:
        return found
    task, backwards = F("task_id"), F("pk").desc()
    chars = Sum(length_of("parts_json") + length_of("metadata_json"))
    rows: QuerySet[Message] = (
        Message.objects.filter(task__in=tasks)
        .exclude(pk__in=[pk for pk in without if pk])
        .annotate(
            nth=Window(RowNumber(), partition_by=task, order_by=backwards),
            together=Window(chars, partition_by=task, order_by=backwards),
        )
        .filter(nth__lte=length)
    )
    fits = Q(together__lte=LONGEST // len(tasks))
    if len(tasks) == 1:
        fits |= Q(nth=1)
    for message in rows.filter(fits).order_by("pk"):
        if message.task_id:
            found[message.task_id].append(message)
    return found
