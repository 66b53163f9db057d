"""Starts a real server with a public agent behind `wake connect`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixtures.migrated import migrated_folder
from tests.relay.conformance.caller import Caller
from tests.relay.conformance.server import Relay, connected, manage
from tests.wake.callbacks.receiver import Receiver
from tests.wake.server.up import Up, clean_environment, free_port


@pytest.fixture(scope="session")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    folder = tmp_path_factory.mktemp("relay")
    port = free_port()
    data = migrated_folder(folder / "data")
    up = Up(data, port, clean_environment(WAKE_DATA=str(data), PORT=str(port)))
    try:
        up.start().once_greeted()
        public = ("--public", "--reply-policy", "any", "--input-mode", "text/plain", "--root")
        manage(up, "publish_agent", "tck", *public)
        key = manage(up, "issue_key", "tck")
        caller = manage(up, "issue_caller_key", "peers")
        with connected(up, key, folder / "journal"):
            yield Relay(up, "home", "tck", caller)
    finally:
        up.kill_everything()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def caller(relay: Relay) -> Caller:
    return Caller(relay.url, "1.0")


@pytest.fixture
def older(relay: Relay) -> Caller:
    return Caller(relay.url, "0.3")
