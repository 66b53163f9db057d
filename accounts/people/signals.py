"""Notifies other packages when people change facts about themselves.

Signals are sent inside the transaction, and their receivers write rows and do no I/O.
"""

from django.dispatch import Signal

time_zone_changed = Signal()  # user, at
person_removed = Signal()  # user, who is deleted next; names, which no one else has; by: new name
