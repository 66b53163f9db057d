"""Pages and polls work without the cache, so a Redis that is frozen does not slow them."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache.backends.base import BaseCache

from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client

PAGES = ("/", "/history/", "/agents/", "/callbacks/", "/audit/", "/settings/profile/", "/snoozed/")


class FrozenCache(BaseCache):
    """Imitates a frozen cache. Fails a test whose request waits for the cache."""

    def __init__(self, _: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def _wait(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("A request asked the cache.")

    add = get = set = touch = delete = clear = incr = decr = has_key = _wait
    get_many = set_many = delete_many = get_or_set = _wait


@pytest.fixture(autouse=True)
def frozen(settings: Any) -> None:
    backend = f"{__name__}.FrozenCache"
    settings.CACHES = settings.CACHES | {"default": {"BACKEND": backend}}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_does_not_use_the_cache(alice: User, path: str) -> None:
    browser = Client()
    browser.force_login(alice)

    assert browser.get(path).status_code == 200


def test_delivering_answering_and_polling_do_not_use_the_cache(
    alice: User, caller: AgentClient
) -> None:
    browser = Client()
    browser.force_login(alice)

    delivery_id = caller.deliver()

    assert browser.get(f"/deliveries/{delivery_id}/").status_code == 200
    assert caller.poll(delivery_id)["status"] == "pending"
    assert caller.sweep()["has_more"] is False
