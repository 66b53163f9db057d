"""Notifies other packages of changes.

Signals are sent inside the transaction. Their receivers write rows and do no I/O. Only `work_due`
is sent after the commit. The model of the due rows sends it, and its receivers (wake/jobs.py,
relay/jobs.py) wake a worker and never raise. `callbacks_attempted` is sent outside of transactions,
and only metrics receive it.
"""

from collections.abc import Iterable
from functools import partial

from django.db import transaction
from django.dispatch import Signal

from database.notifications import notify_soon
from wake.models import Delivery

released = Signal()  # response: loaded with its delivery
taken_back = Signal()  # delivery: it has no response any more
erased = Signal()  # delivery_ids
assigned = Signal()  # delivery, user_ids and at: people were added after the delivery
failed = Signal()  # delivery, failure and at: an agent reported that an approved action failed
team_closed = Signal()  # team_id: the team moves to another server, or can be used again
will_be_removed = Signal()  # delivery_ids: the rows of these deliveries will be removed
person_removed = Signal()  # user, names that no one else has, and by: the new name in their place
work_due = Signal()
callbacks_attempted = Signal()  # durations: in seconds


def wake_worker_on_commit(sender: type) -> None:
    """Sends `work_due` after the commit of the transaction that writes the due rows."""
    transaction.on_commit(partial(work_due.send, sender=sender), robust=True)


def inbox_topic(team_id: int) -> str:
    """Returns the topic of the notifications about a team's deliveries (database/notifications.py):
    when they arrive, and when they are answered, acknowledged, withdrawn or brought back."""
    return f"inbox:{team_id}"


def notify_inbox(deliveries: Iterable[Delivery]) -> None:
    """Notifies open pages, once the transaction has committed."""
    for team_id in {delivery.team_id for delivery in deliveries}:
        notify_soon(inbox_topic(team_id))
