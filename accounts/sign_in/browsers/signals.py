"""Notifies other packages when people sign in and out.

Signals are sent inside the transaction, and their receivers write rows and do no I/O.
"""

from django.dispatch import Signal

signed_in = Signal()  # request, user; time_zone: that of the browser, or empty; at
browser_signed_out = Signal()  # user, session: the data of the session; by, at
other_browsers_signed_out = Signal()  # user, session: the one that stays, or an empty one; by, at
