"""Lists the kinds of channels in the order in which people see them."""

from __future__ import annotations

from inbox.notifications.channels.kinds import (
    mail,
    ntfy,
    slack_app,
    slack_webhook,
    teams,
    web_push,
    webhook,
)
from inbox.notifications.channels.kinds.kind import ChannelKind

KINDS = {
    kind.name: kind
    for kind in (
        *(mail.KIND, web_push.KIND, slack_webhook.KIND, slack_app.KIND, teams.KIND, ntfy.KIND),
        webhook.KIND,
    )
}


def kind_of(name: str) -> ChannelKind:
    """Raises KeyError for a kind that this version of Wake does not know."""
    return KINDS[name]


def kinds_for(*, team: bool) -> list[ChannelKind]:
    """Returns the kinds that a person, or a team, can add on this server."""
    offered = (kind for kind in KINDS.values() if (kind.for_teams if team else kind.for_people))
    return [kind for kind in offered if kind.is_available()]
