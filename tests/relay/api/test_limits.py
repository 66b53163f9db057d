"""Anonymous callers store a limited number of bytes."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.limits.throttles import TooManyRequests
from relay.api import limits
from relay.api.limits import count_bytes


def test_bytes_are_not_counted_while_the_cache_is_away(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    count_bytes("192.0.2.1", limits.ANONYMOUS_BYTES)
    with pytest.raises(TooManyRequests):
        count_bytes("192.0.2.1", 1)
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
            "OPTIONS": {"socket_timeout": 0.2, "socket_connect_timeout": 0.2},
        }
    }

    for _ in range(3):
        count_bytes("192.0.2.1", limits.ANONYMOUS_BYTES + 1)

    assert len(caplog.records) == 1
