"""Provides a push service, and a browser that subscribes to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.inbox.notifications.web_push.push_service import Browser
from tests.wake.callbacks.receiver import Receiver


@pytest.fixture
def push_service(start_receiver: Callable[..., Receiver], settings: Any) -> Receiver:
    """Starts a push service, which this server may use."""
    receiver = start_receiver()
    settings.WAKE_NOTIFICATION_HOSTS = {f"127.0.0.1:{receiver.port}"}
    return receiver


@pytest.fixture
def browser(push_service: Receiver) -> Browser:
    return Browser(f"http://127.0.0.1:{push_service.port}/push/one")
