"""Says what a move to another server does with the tables of the relay
(wake/management/moving/)."""

from __future__ import annotations

from relay.models import Card
from wake.management.moving.notes import Row, TableNotes

TWO_AT_ROOT = (
    "An agent of the team has its card at the root of the server, and so has an agent here. Run "
    "publish_agent with --no-root on one of the servers."
)


def _second_at_root(row: Row) -> str:
    return TWO_AT_ROOT if row["is_root"] and Card.objects.filter(is_root=True).exists() else ""


NOTES = TableNotes(
    left_out={"relay.Connector": "a connector connects again"},
    rows_at_once={"relay.Artifact": 4, "relay.Blob": 2, "relay.Message": 20},
    keys={"relay.CallerKey": "team"},
    unlinked={"relay.Task": "status_message"},
    refusals={"relay.Card": _second_at_root},
)
