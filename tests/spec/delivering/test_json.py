""" "Refused with 400/422 and never a 500: NaN, Infinity, 1e400, huge integers, `\\u0000`, lone
surrogates, duplicate keys ..., nesting deeper than 64." (docs/protocol.md, Errors)"""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from wake.models import Delivery


def with_details(caller: AgentClient, text: str) -> bytes:
    """Returns the body with `text` in the place of the details."""
    body = json.dumps(caller.payload(details="HERE"))
    return body.replace('"HERE"', text).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e400}',
        '{"a": -1e400}',
        '{"a": 1' + "0" * 400 + ".0}",
        '{"a": 9223372036854775808}',
        '{"a": -9223372036854775809}',
        '{"a": 1' + "0" * 20_000 + "}",
        '{"a": -' + "9" * 100_000 + "}",
        r'"\u0000"',
        r'{"\u0000": 1}',
        r'{"a": ["\u0000"]}',
        r'"\ud800"',
        r'"\udc00\ud800"',
        r'{"\udfff": 1}',
        '"\ud800"',
        '{"a": 1, "a": 1}',
        '{"a": {"b": 1, "b": 2}}',
        r'{"a": 1, "\u0061": 2}',
        '[{"a": 1, "a": 2}]',
        '{"a": 01}',
        '{"a": .5}',
        '{"a": 1.}',
        '{"a": +1}',
        '{"a": 0x10}',
        "{'a': 1}",
        '{"a": 1,}',
        '{"a" 1}',
        "{a: 1}",
        '{"a": undefined}',
        '{"a": 1} // a comment',
        '"a\tb"',
        '"a\nb"',
        r'"\x41"',
        r'"\u00g0"',
        "nan",
        "tru",
    ],
)
def test_ambiguous_json_is_refused(caller: AgentClient, text: str) -> None:
    error_of(caller.post(with_details(caller, text)), 400, "malformed")

    assert not Delivery.objects.exists()


@pytest.mark.parametrize("name", ["agent_id", "headline", "status", "x"])
def test_a_duplicate_key_at_the_top_is_refused(caller: AgentClient, name: str) -> None:
    """ "last one wins is not acceptable where a human approves what they saw" """
    body = json.dumps(caller.payload(x=1, status="approved"))
    twice = body[:-1] + f', "{name}": "other"}}'

    error = error_of(caller.post(twice), 400, "malformed")

    assert name in error["message"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ('""', ""),
        ("null", None),
        ('{"a": 9223372036854775807}', {"a": 9223372036854775807}),
        ('{"a": -9223372036854775807}', {"a": -9223372036854775807}),
        ('{"a": 1e308}', {"a": 1e308}),
        ('{"a": -0.0}', {"a": -0.0}),
        ('{"a": 1e-400}', {"a": 0.0}),
        (r'"\ud83c\udf89"', "🎉"),
        (r'"\\u0000"', r"\u0000"),
        ('"\x7f\x80\x9f"', "\x7f\x80\x9f"),
        ('{"": {"": ""}}', {"": {"": ""}}),
        ('{"__proto__": {"constructor": 1}}', {"__proto__": {"constructor": 1}}),
        (' \t\r\n{ "a" :\n[ ] } ', {"a": []}),
    ],
)
def test_unambiguous_json_is_stored_unchanged(caller: AgentClient, text: str, value: Any) -> None:
    """ "keep the agent's JSON text as sent" (docs/reliability.md)"""
    answer = caller.post(with_details(caller, text))

    assert answer.status_code == 201, answer.content
    delivery = Delivery.objects.get()
    assert delivery.details == value
    assert delivery.details_json == (None if value is None else text.strip(" \t\r\n"))


def test_order_and_digits_of_details_are_kept(caller: AgentClient) -> None:
    text = '{"z": 0.1000000000000000055511151231257827, "a": 1.0, "m": 1E2}'

    caller.post(with_details(caller, text))

    assert Delivery.objects.get().details_json == text


@pytest.mark.parametrize("kind", ["{", "["])
@pytest.mark.parametrize("innermost", ["", "1", '"x"'])
@pytest.mark.parametrize("depth", [64, 65])
def test_nesting_is_64_deep_and_not_deeper(
    caller: AgentClient, kind: str, innermost: str, depth: int
) -> None:
    """ "nesting deeper than 64" - the body itself is the first level."""
    inside = depth - 2  # the body and the object in details
    if kind == "[":
        nest = "[" * inside + innermost + "]" * inside
    else:
        nest = '{"a":' * (inside - 1) + "{" + (f'"a":{innermost}' if innermost else "")
        nest += "}" * inside
    body = with_details(caller, f'{{"a": {nest}}}')

    answer = caller.post(body)

    if depth == 64:
        assert answer.status_code == 201, answer.content
    else:
        error_of(answer, 400, "malformed")


@pytest.mark.parametrize("depth", [1_000, 60_000])
@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
def test_very_deep_nesting_is_no_500(caller: AgentClient, depth: int, pair: str) -> None:
    depth = min(depth, 250_000 // len(pair))
    open_, close = pair[:-1], pair[-1]

    answer = caller.post(with_details(caller, open_ * depth + "1" + close * depth))

    error_of(answer, 400, "malformed")


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-32"),
        lambda text: text.encode("utf-7").replace(b"{", b"+AHs-"),
        lambda text: text.replace("Analysed", "Gr\xfc\xdfe").encode("latin-1"),
        lambda text: b"\x1f\x8b" + text.encode(),
        lambda text: text.encode() + b"\x00",
    ],
)
def test_only_utf_8_without_a_byte_order_mark_is_read(caller: AgentClient, encode: Any) -> None:
    answer = caller.post(encode(json.dumps(caller.payload())))

    error_of(answer, 400, "malformed")
    assert not Delivery.objects.exists()


def test_a_duplicate_among_many_keys_is_found_at_once(caller: AgentClient) -> None:
    """It used to take a minute to find a duplicate among thirty thousand members."""
    members = ", ".join(f'"{number:x}": 0' for number in range(20_000))
    body = with_details(caller, f'{{{members}, "4e1f": 0}}')
    start = time.process_time()

    answer = caller.post(body)

    error = error_of(answer, 400, "malformed")
    assert "4e1f" in error["message"]
    assert time.process_time() - start < 2


def test_a_form_is_refused(caller: AgentClient) -> None:
    answer = caller.client.post("/wake/v1/deliver", caller.payload(), headers=caller.headers)

    error_of(answer, 400, "malformed")


def test_unknown_fields_are_kept_and_ignored(caller: AgentClient) -> None:
    """ "Unknown fields are kept in `extensions` and ignored." """
    unknown = {"status": "approved", "urgency": 3, "nested": {"a": [1, None, "🎉"]}, "": ""}

    pk = caller.deliver(**unknown)

    assert Delivery.objects.get().extensions == unknown
    assert caller.poll(pk)["status"] == "pending"
