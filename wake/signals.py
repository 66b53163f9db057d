"""What others may hear of. The first five are sent inside the transaction: their receivers write
rows and do no I/O.

`work_due` is sent after the commit; its one receiver (wake/jobs.py) rings the broker's bell and can
never raise.
"""

from functools import partial

from django.db import transaction
from django.dispatch import Signal

delivered = Signal()  # delivery
released = Signal()  # response, with its delivery
taken_back = Signal()  # delivery, whose response is gone
timed_out = Signal()  # delivery
erased = Signal()  # delivery_ids
work_due = Signal()


def ring_on_commit(sender: type) -> None:
    """What is due now is in the rows that this transaction writes."""
    transaction.on_commit(partial(work_due.send, sender=sender), robust=True)
