"""Lists services whose runs wait at a URL, and the hosts of these URLs (docs/by-url.md)."""

from __future__ import annotations

from typing import NamedTuple


class Service(NamedTuple):
    """Describes a service. `<...>` in its host stands for a name that the owner must type, and is
    refused as it is."""

    name: str
    host: str


SERVICES = {
    "trigger-dev": Service("Trigger.dev", "api.trigger.dev"),
    "vercel": Service("Vercel Workflow", "<deployment>.vercel.app"),
    "n8n": Service("n8n Cloud", "<instance>.app.n8n.cloud"),
}
