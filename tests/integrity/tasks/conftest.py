"""Provides the published agent, caller and connector of the relay's tests."""

from tests.relay.conftest import answered_at_once as answered_at_once
from tests.relay.conftest import caller_key as caller_key
from tests.relay.conftest import card as card
from tests.relay.conftest import connector as connector
