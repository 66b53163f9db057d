"""Any body of a delivery gets 201, or an error in JSON and nothing is stored
(docs/reliability.md, Other promises, 14)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounts.models import Agent
from tests.stress.hostile.asking import Judged
from wake.models import Delivery

pytestmark = pytest.mark.slow


GOOD = {
    "agent_id": "research-agent-01",
    "provider": "claude",
    "type": "output",
    "headline": "Market report ready for your review",
    "summary": "Analysed the ten largest competitors.",
}
FIELDS = [
    *GOOD,
    "details",
    "callback_webhook",
    "timeout_seconds",
    "assumption",
    "on_timeout",
    "thread",
    "supersedes",
]
NAMES = [*FIELDS, "extensions", "status", "id"]
NASTY = [
    "\x00", "\ud800", "\udfff\ud800", "\u202e", "\u2028", "\ufeff", "\U0010ffff", "e\u0301" * 200,
    "' OR 1=1 --", "{{7*7}}", "<script>alert(1)</script>", "%00", "../../etc/passwd", "wk_live_x",
    "https://hooks.example.com\\@evil.example/", "https://[::1", "https://\ud800.example/",
    "https://xn--\u00e4.example/", "https://a" + ".a" * 300, "https://hooks.example.com:99999/",
    "https://hooks.example.com:\u0663/", "https://\u2100.example/", "https://%zz/", "https://",
    "550e8400-e29b-41d4-a716-446655440000", "x" * 10_000, "9" * 400, "1e400", "NaN",
]  # fmt: skip

texts = st.one_of(st.text(), st.sampled_from(NASTY), st.text(alphabet="\x00\ud800\x85 x🎉"))
numbers = st.one_of(
    st.integers(),
    st.integers(min_value=-(10**400), max_value=10**400),
    st.floats(allow_nan=True, allow_infinity=True),
    st.booleans(),
)
values = st.recursive(
    st.one_of(st.none(), texts, numbers),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
urls = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=60).map(lambda text: f"https://{text}"),
    st.text(max_size=60).map(lambda text: f"https://hooks.example.com{text}"),
)


def as_json(value: Any, *, escaped: bool) -> bytes:
    return json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")


@given(st.binary(max_size=400))
@example(b"[" * 200_000)
@example(b'{"a":' * 40_000)
@example(b"{" + b'"a":1,' * 40_000)
@example(b'"' + b"\\" * 200_001)
@example(b"-" * 200_000)
@example(b"1" * 200_000)
@example(b"0." + b"1" * 200_000)
@example(b"1e" + b"9" * 200_000)
@example(b'"\\ud800\\udc00' + b"\\u0000" * 30_000)
@example(b'{"\\u0000":1}' + b" " * 200_000)
def test_any_bytes(judged: Judged, body: bytes) -> None:
    assert judged("POST", "/wake/v1/deliver", body=body).status == 400


@given(values, st.booleans())
def test_any_json(judged: Judged, value: Any, escaped: bool) -> None:
    answer = judged("POST", "/wake/v1/deliver", body=as_json(value, escaped=escaped))

    assert answer.status in {400, 403, 422}


@given(st.dictionaries(st.sampled_from(NAMES), values, max_size=3), st.booleans())
def test_any_value_in_any_field(judged: Judged, changed: dict[str, Any], escaped: bool) -> None:
    answer = judged("POST", "/wake/v1/deliver", body=as_json(GOOD | changed, escaped=escaped))

    assert answer.status in {201, 400, 403, 422}
    if answer.status == 201:
        pk = answer.json["delivery_id"]
        assert judged("GET", f"/wake/v1/response/{pk}").json["status"] == "pending"
        stored = Delivery.objects.get(pk=pk)
        assert stored.details == changed.get("details")
        assert set(stored.extensions) == {name for name in changed if name not in FIELDS}


@given(urls)
def test_any_callback(judged: Judged, agent: Agent, allowed_host: str, url: str) -> None:
    body = as_json(GOOD | {"callback_webhook": url}, escaped=True)

    answer = judged("POST", "/wake/v1/deliver", body=body)

    if answer.status == 201:
        assert url.startswith("https://hooks.example.com")


@given(st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
def test_a_good_body_with_a_few_bytes_changed(
    judged: Judged, where: int, put: bytes, instead: int
) -> None:
    good = as_json(GOOD | {"details": {"a": [1, 2.5, None, "ü🎉"]}}, escaped=False)
    where %= len(good)
    body = good[:where] + put + good[where + instead :]

    assert judged("POST", "/wake/v1/deliver", body=body).status in {201, 400, 403, 422}


@given(st.integers(1, 70), st.sampled_from(["[]", '{"a":}']), st.sampled_from(["", "1"]))
def test_any_depth(judged: Judged, depth: int, pair: str, inner: str) -> None:
    open_, close = pair[:-1], pair[-1]
    nest = open_ * depth + (inner or ("1" if "{" in pair else "")) + close * depth
    body = json.dumps(GOOD | {"x": "HERE"}).replace('"HERE"', nest).encode()

    answer = judged("POST", "/wake/v1/deliver", body=body)

    assert answer.status == (201 if depth + 1 <= 64 else 400)


@given(st.lists(st.tuples(st.sampled_from(NAMES), values), min_size=2, max_size=6))
def test_keys_twice(judged: Judged, members: list[tuple[str, Any]]) -> None:
    text = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in members)

    answer = judged("POST", "/wake/v1/deliver", body=f"{{{text}}}".encode())

    assert answer.status in {400, 403, 422}
