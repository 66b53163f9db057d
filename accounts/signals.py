"""Tells other packages what happened to people.

Signals are sent inside the transaction, and their receivers write rows and do no I/O.
"""

from django.dispatch import Signal

browser_signed_out = Signal()  # user, session: what the session held; by, at
other_browsers_signed_out = Signal()  # user, session: the one that stays, or an empty one; by, at
time_zone_changed = Signal()  # user, at
