"""Has the settings of both clients."""

from __future__ import annotations

from typing import Any

from wake_client.http import addresses, keys
from wake_client.version import __version__

RETRY_FOR_SECONDS = 120.0
MAX_ROWS = 200


def options(endpoint: str, key: str) -> dict[str, Any]:
    """Returns the arguments of httpx.Client and httpx.AsyncClient. Raises ValueError."""
    return {
        "base_url": addresses.api(endpoint),
        "headers": {
            "Authorization": f"Bearer {keys.checked(key)}",
            "User-Agent": f"wake-client/{__version__}",
        },
        "follow_redirects": False,
    }
