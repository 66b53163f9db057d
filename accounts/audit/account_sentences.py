"""Registers the words for what happens to teams, members, agents and keys."""

from __future__ import annotations

from accounts.audit.sentences import Detail, Say, Words, does


def _limited(actor: str, detail: Detail) -> str:
    an_hour = detail.get("an_hour")
    if an_hour is None:
        return f"{actor} removed an agent's rate limit"
    return f"{actor} limited an agent to {an_hour} deliver{'y' if an_hour == 1 else 'ies'} per hour"


def _renamed(actor: str, detail: Detail) -> str:
    before = detail.get("before")
    return f"{actor} renamed the team{f' from {before}' if before else ''}"


def _role_changed(actor: str, detail: Detail) -> str:
    role = detail.get("role")
    return f"{actor} changed a member's role{f' to {role}' if role else ''}"


def _joined(actor: str, detail: Detail) -> str:
    inviter = detail.get("invited_by")
    return f"{actor} joined the team{f', invited by {inviter}' if inviter else ''}"


def _invited(actor: str, detail: Detail) -> str:
    role = detail.get("role")
    return f"{actor} invited someone{f' as {role}' if role else ''}"


def _of_agent(verb: str) -> Say:
    def say(actor: str, detail: Detail) -> str:
        agent = detail.get("agent")
        return f"{actor} {verb}{f' for {agent}' if agent else ''}"

    return say


def _granted(actor: str, detail: Detail) -> str:
    return f"{actor} added an alias for {detail.get('agent', 'an agent')}"


def _taken_away(actor: str, detail: Detail) -> str:
    return f"{actor} removed an alias of {detail.get('agent', 'an agent')}"


def _connected(actor: str, detail: Detail) -> str:
    client, agent = detail.get("client", "a client"), detail.get("agent", "an agent")
    return f"{actor} connected {client} as {agent}"


def _terminal(actor: str, detail: Detail) -> str:
    machine, agent = detail.get("machine") or "a terminal", detail.get("agent", "an agent")
    return f"{actor} connected {machine} as {agent}"


def _ended(actor: str, detail: Detail) -> str:
    client, agent = detail.get("client", "a client"), detail.get("agent", "an agent")
    return f"{actor} ended {client} as {agent}"


def _moves(verb: str) -> Say:
    """Returns a function that writes a sentence about a move from or to another server."""
    return lambda actor, detail: f"{actor} {verb} {detail.get('server', 'another server')}"


EVENTS = {
    "agent.registered": Words("Agent registered", "agents registered", does("registered an agent")),
    "agent.paused": Words("Agent paused", "agents paused", does("paused an agent")),
    "agent.resumed": Words("Agent resumed", "agents resumed", does("resumed an agent")),
    "agent.archived": Words("Agent archived", "agents archived", does("archived an agent")),
    "agent.restored": Words("Agent restored", "agents restored", does("restored an agent")),
    "agent.limited": Words("Rate limit changed", "rate limits changed", _limited),
    "agent.changed": Words("Agent changed", "agents changed", does("changed an agent")),
    "agent.removed": Words("Agent removed", "agents removed", does("removed an agent")),
    "claim.added": Words("Alias added", "aliases added", _granted),
    "claim.changed": Words(
        "Alias changed", "aliases changed", does("changed an alias of an agent")
    ),
    "claim.removed": Words("Alias removed", "aliases removed", _taken_away),
    "key.issued": Words("Key created", "keys created", _of_agent("created a key")),
    "key.rotated": Words("Key rotated", "keys rotated", _of_agent("rotated a key")),
    "key.revoked": Words("Key revoked", "keys revoked", _of_agent("revoked a key")),
    "key.slowed_down": Words(
        "Rate limited",
        "rate limits exceeded",
        does("exceeded its rate limit"),
    ),
    "client.connected": Words("Client connected", "clients connected", _connected),
    "terminal.connected": Words("Terminal connected", "terminals connected", _terminal),
    "client.ended": Words("Client ended", "clients ended", _ended),
    "clients.changed": Words(
        "Allowed clients changed",
        "changes of the allowed clients",
        does("changed which clients may connect"),
    ),
    "secret.issued": Words(
        "Signing secret created",
        "signing secrets created",
        does("created a signing secret"),
    ),
    "secret.rotated": Words(
        "Signing secret rotated",
        "signing secrets rotated",
        does("rotated a signing secret"),
    ),
    "secret.switched": Words(
        "Old signing secret retired",
        "old signing secrets retired",
        does("retired the old signing secret"),
    ),
    "team.added": Words("Team created", "teams created", does("created the team")),
    "team.changed": Words("Team changed", "teams changed", does("changed the team")),
    "team.renamed": Words("Team renamed", "teams renamed", _renamed),
    "team.second_factor_required": Words(
        "Two-step sign-in required",
        "teams required two-step sign-in",
        does("required two-step sign-in for the team"),
    ),
    "team.second_factor_not_required": Words(
        "Two-step sign-in no longer required",
        "teams stopped requiring two-step sign-in",
        does("stopped requiring two-step sign-in for the team"),
    ),
    "team.signs_irreversible": Words(
        "Passkey required for irreversible actions",
        "teams required passkeys for irreversible actions",
        does("required a passkey to approve irreversible actions in the team"),
    ),
    "team.signs_no_irreversible": Words(
        "Passkey no longer required for irreversible actions",
        "teams stopped requiring passkeys for irreversible actions",
        does("stopped requiring a passkey to approve irreversible actions in the team"),
    ),
    "team.move_began": Words("Move began", "moves began", _moves("began to move the team to")),
    "team.stayed": Words("Move undone", "moves undone", _moves("undid the move of the team to")),
    "team.left": Words("Team moved away", "teams moved away", _moves("moved the team to")),
    "team.arrived": Words(
        "Team arrived", "teams arrived", _moves("stored the team, which comes from")
    ),
    "team.opened": Words(
        "Team opened", "teams opened", _moves("opened the team, which comes from")
    ),
    "team.removed": Words(
        "Rows of a moved team removed",
        "teams removed after a move",
        _moves("removed the rows of the team, which had moved to"),
    ),
    "team.dropped": Words(
        "Arrived team removed",
        "arrived teams removed",
        _moves("removed the team, which had come from"),
    ),
    "team.handed_over": Words(
        "Ownership transferred",
        "teams transferred",
        does("transferred ownership of the team"),
    ),
    "membership.added": Words("Member added", "members added", does("added a member")),
    "membership.changed": Words("Member changed", "members changed", _role_changed),
    "membership.removed": Words("Member removed", "members removed", does("removed a member")),
    "membership.left": Words("Member left", "members left", does("left the team")),
    "membership.deactivated": Words(
        "Member deactivated",
        "members deactivated",
        does("deactivated a member, who can no longer sign in"),
    ),
    "membership.reactivated": Words(
        "Member reactivated",
        "members reactivated",
        does("reactivated a member, who can sign in again"),
    ),
    "membership.joined": Words("Member joined", "members joined", _joined),
    "invitation.made": Words("Invitation created", "invitations created", _invited),
    "invitation.revoked": Words(
        "Invitation revoked",
        "invitations revoked",
        does("revoked an invitation"),
    ),
}
