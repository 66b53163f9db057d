"""Tells other packages what happened.

Signals are sent inside the transaction, and their receivers write rows and do no I/O. Only
`work_due` is sent after the commit, by the model of the rows that are due: its receivers
(wake/jobs.py, relay/jobs.py) wake a worker and never raise.
"""

from functools import partial

from django.db import transaction
from django.dispatch import Signal

released = Signal()  # response, with its delivery
taken_back = Signal()  # delivery, whose response is gone
erased = Signal()  # delivery_ids
work_due = Signal()


def wake_worker_on_commit(sender: type) -> None:
    """Sends `work_due` after the commit of the transaction that writes the due rows."""
    transaction.on_commit(partial(work_due.send, sender=sender), robust=True)
