from __future__ import annotations

from typing import Any

import pytest

from accounts.models import ApiKey
from tests.wake.mcp.client import HANDSHAKE, STATELESS, McpClient


@pytest.fixture(params=[STATELESS, HANDSHAKE])
def either(key: ApiKey, request: Any) -> McpClient:
    """Returns a client of each era."""
    return McpClient(key.text, version=request.param)  # type: ignore[attr-defined]


@pytest.fixture
def mcp(key: ApiKey) -> McpClient:
    return McpClient(key.text)  # type: ignore[attr-defined]
