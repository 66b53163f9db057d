"""Mails the links that confirm and undo a new address. The worker makes a link when it sends the
mail, so only its reader has it.

While the mail server is away, the row waits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice

from accounts.models import AddressChange
from accounts.sign_in import address_changes
from database import sweeps
from database.clock import database_now
from inbox.people.sign_in import mails
from pages.mail import NotTaken, ServerAway

LEASE = timedelta(minutes=2)  # longer than a mail server may take (EMAIL_TIMEOUT a step)
AT_ONCE = 100


def send_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Returns how many mails were sent."""
    return sweeps.each(
        islice(iter(lambda: address_changes.claim_mail(lease=LEASE, at=clock()), None), AT_ONCE),
        _send,
        what="changes of address",
        stop_on=(ServerAway,),
    )


def _send(claimed: tuple[AddressChange, str]) -> bool:
    """Returns whether a mail was sent; raises ServerAway. An address that belongs to another person
    gets none, and the page says the same for all addresses."""
    change, text = claimed
    is_sent = True
    try:
        if change.confirmed_at:
            mails.send_address_changed(change, text)
        elif is_sent := not address_changes.is_taken(change):
            mails.send_new_address(change, text)
    except ServerAway:
        raise
    except NotTaken:
        is_sent = False
    address_changes.settle_mail(change)
    return is_sent
