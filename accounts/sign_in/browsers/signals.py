"""Notifies other packages when people sign in and out.

Signals are sent inside the transaction, and their receivers write rows and do no I/O.
"""

from django.dispatch import Signal

# The arguments are request, user, time_zone (the browser's, or an empty text) and at.
signed_in = Signal()
# The arguments are user, session (the data of the session), by and at.
browser_signed_out = Signal()
# The arguments are user, session (the session that stays, or an empty one), by and at.
other_browsers_signed_out = Signal()
