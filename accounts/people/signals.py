"""Notifies other packages when people change facts about themselves.

Signals are sent inside the transaction, and their receivers write rows and do no I/O.
"""

from django.dispatch import Signal

# The arguments are user and at.
time_zone_changed = Signal()
# The arguments are user, who is deleted next, names, which no one else has, and by, the new name.
person_removed = Signal()
# The arguments are user and at. The person can no longer sign in.
person_deactivated = Signal()
