"""Provides the published agent, its caller and its connector of the tests of the relay."""

from tests.relay.conftest import answered_at_once as answered_at_once
from tests.relay.conftest import caller_key as caller_key
from tests.relay.conftest import card as card
from tests.relay.conftest import connector as connector
