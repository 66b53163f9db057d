"""Any batch gets a documented status code for the request and for each delivery, and a refusal
stores nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import ApiKey
from tests.stress.hostile.asking import ask
from tests.stress.hostile.test_bodies import FIELDS, GOOD, as_json, texts, values
from wake.models import Delivery

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
NAMES = st.sampled_from([*FIELDS, "priority", "idempotency_key", "extensions"]) | texts
ITEMS = values | st.dictionaries(NAMES, values, max_size=3).map(lambda changed: GOOD | changed)


@pytest.fixture(autouse=True)
def many_requests(settings: Any) -> None:
    settings.WAKE_QUOTA_LIVE = (10**9, 10**9)


def post(key: ApiKey, body: bytes) -> None:
    stored = Delivery.objects.count()
    headers = {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]
    answer = ask("POST", "/wake/v1/deliveries", headers=headers, body=body)
    assert answer.status in {200, 400, 403, 422}, answer.body
    new = 0
    if answer.status == 200:
        for result in answer.json["results"]:
            assert result["status_code"] in {201, 400, 403, 422}
            is_new = result["status_code"] == 201 and not result["replayed"]
            new += is_new
            assert ("error" in result["body"]) == (result["status_code"] != 201)
    else:
        assert "code" in answer.json["error"]
    assert Delivery.objects.count() == stored + new


@given(st.dictionaries(st.sampled_from(["deliveries", "atomic", "more"]), values), st.booleans())
def test_any_request(key: ApiKey, body: Any, escaped: bool) -> None:
    post(key, as_json(body, escaped=escaped))


@given(st.lists(ITEMS, max_size=6), st.none() | st.booleans() | values, st.booleans())
def test_any_items(key: ApiKey, items: list[Any], atomic: Any, escaped: bool) -> None:
    post(key, as_json({"deliveries": items, "atomic": atomic}, escaped=escaped))
