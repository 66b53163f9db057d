"""Implements `wake hook --report`. A coding agent runs this command after a call. The command
reports to people what came of the call that they approved."""

from __future__ import annotations

import sys
from collections.abc import Callable

from wake_client.client import WakeClient
from wake_client.hook import ends
from wake_client.hook.approved import Approved
from wake_client.hook.stopping import Stopped
from wake_client.visible_text import visible

# After this exit status, Claude Code shows stderr to the person, and continues.
NOT_REPORTED = 1


def report(
    read: Callable[[], str], *, agent: str, approved: Approved, client: Callable[[], WakeClient]
) -> int:
    """Reports how a call ended, and returns the exit status. Sends nothing if no person of the team
    approved the call. If a report cannot be sent, stderr says so, and shows a command that sends
    it."""
    command = ""
    try:
        ended = ends.read(read(), agent=agent)
        delivery_id = approved.take(ended.call) if ended else None
        if ended is None or delivery_id is None:
            return 0
        command = f" Send it with: wake report {delivery_id} {ended.status}"
        with client() as wake:
            wake.report(delivery_id, ended.status, ended.summary)
    except (Exception, KeyboardInterrupt, Stopped) as reason:
        problem = str(reason) or type(reason).__name__
        told = f"The end of this call was not reported: {problem}{command}"
        sys.stderr.write(f"wake hook: {visible(told)}\n")
        return NOT_REPORTED
    return 0
