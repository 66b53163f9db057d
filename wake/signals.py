"""Tells other packages what happened.

Signals are sent inside the transaction, and their receivers write rows and do no I/O. Only
`work_due` is sent after the commit, by the model of the rows that are due: its receivers
(wake/jobs.py, relay/jobs.py) wake a worker and never raise.
"""

from collections.abc import Iterable
from functools import partial

from django.db import transaction
from django.dispatch import Signal

from database.notifications import notify_soon
from wake.models import Delivery

released = Signal()  # response, with its delivery
taken_back = Signal()  # delivery, whose response is gone
erased = Signal()  # delivery_ids
assigned = Signal()  # delivery, user_ids and at: people were added to it after it was delivered
person_removed = Signal()  # user, names that no one else has, and by: what stands for them now
work_due = Signal()


def wake_worker_on_commit(sender: type) -> None:
    """Sends `work_due` after the commit of the transaction that writes the due rows."""
    transaction.on_commit(partial(work_due.send, sender=sender), robust=True)


def inbox_topic(team_id: int) -> str:
    """Names the notifications about the deliveries of a team (database/notifications.py): they
    arrive, and they are answered, acknowledged, withdrawn or brought back."""
    return f"inbox:{team_id}"


def notify_inbox(deliveries: Iterable[Delivery]) -> None:
    """Tells open pages, once the transaction has committed."""
    for team_id in {delivery.team_id for delivery in deliveries}:
        notify_soon(inbox_topic(team_id))
