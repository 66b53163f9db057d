"""Any path, query string or header gets an answer in JSON below 500."""

from __future__ import annotations

from urllib.parse import quote_from_bytes, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounts.models import ApiKey
from tests.stress.hostile.asking import Judged, ask
from tests.stress.hostile.test_bodies import GOOD, NASTY, as_json
from wake.models import Delivery

pytestmark = pytest.mark.slow


BODY = as_json(GOOD, escaped=True)
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", ""]
# A server lets no line break and no NUL through. Any other latin-1 character may come.
header_values = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\x00"))
parameters = st.sampled_from(["agent_id", "status", "since", "limit", "wait", "format", "x", ""])
instants = st.one_of(
    st.datetimes().map(str),
    st.datetimes().map(lambda at: at.isoformat() + "Z"),
    st.from_regex(r"[0-9]{4}-?[0-9W]{2}-?[0-9]{1,3}[T t]?[0-9:.,]*[ +-]?[0-9:]{0,9}Z?"),
    st.sampled_from(["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.9999999-23:59", "-1"]),
)
query_values = st.one_of(
    st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=30),
    st.sampled_from(NASTY).map(lambda text: text.encode("utf-8", "surrogatepass")),
    instants.map(str.encode),
    st.sampled_from([b"pending", b"approved,rejected", b"1", b"200", b"9" * 5000, b"-0", b"1_0"]),
)


@given(st.lists(st.tuples(parameters, query_values), max_size=5))
@example([("wait", b"00000000000000000000000000")])
@example([("limit", "\u0660\u0661".encode())])
@example([("since", b"2026-03-08T11:55:00 " + b"0" * 100_000)])
@example([("status", b",".join([b"pending"] * 20_000))])
@example([("x", b"")] * 1_500)
def test_any_parameters(judged: Judged, query: list[tuple[str, bytes]]) -> None:
    # A granted long poll would only wait.
    granted = [(name, value) for name, value in query if name != "wait" or len(value) > 2]

    for path in ["/wake/v1/responses", "/wake/v1/response/17"]:
        answer = judged("GET", path, query=urlencode(granted))
        assert answer.status in {200, 400, 404, 422}


@given(st.binary(max_size=100))
def test_any_query_string(judged: Judged, query: bytes) -> None:
    text = query.decode("latin-1")

    assert judged("GET", "/wake/v1/responses", query=text).status in {200, 422}
    assert judged("GET", "/wake/v1/response/17", query=text).status in {404, 422}


@given(st.sampled_from(METHODS), st.binary(max_size=60))
@example("GET", b"\xff" * 60)
@example("POST", b"v1/deliver\x00")
@example("POST", b"v1/deliver\n")
@example("GET", b"v1/response/" + b"%25" * 20)
@example("GET", b"v1/response/00000000-0000-0000-0000-000000000000")
@example("GET", b"v1/response/{550e8400-e29b-41d4-a716-446655440000}")
@example("GET", b"v1/response/urn:uuid:550e8400-e29b-41d4-a716-446655440000")
@example("GET", "v1/response/５50e8400-e29b-41d4-a716-446655440000".encode())  # noqa: RUF001
@example("GET", b"v1/response/550e8400_e29b_41d4_a716_446655440000")
def test_any_path(judged: Judged, method: str, path: bytes) -> None:
    answer = judged(method, "/wake/" + quote_from_bytes(path))

    assert answer.status in {200, 400, 404, 405, 422}


@given(st.text(max_size=60))
def test_any_delivery_id(judged: Judged, text: str) -> None:
    pk = quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")

    assert judged("GET", f"/wake/v1/response/{pk}").status == 404


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Content-Type",
                "Content-Encoding", "Cookie", "Expect", "Forwarded", "Host", "If-Modified-Since",
                "If-None-Match", "Origin", "Range", "Referer", "X-Forwarded-For",
                "X-Forwarded-Host", "X-Forwarded-Proto", "X-HTTP-Method-Override", "X-CSRFToken",
                "X-Requested-With", "User-Agent",
            ]
        ),
        header_values,
        max_size=4,
    )
)  # fmt: skip
@example({"Content-Type": "x; charset*=utf-8''%00"})
@example({"Content-Type": "x; charset*=bogus''%41"})
@example({"Content-Type": "x; charset=undefined"})
@example({"Content-Type": "x; charset=hex"})
@example({"Content-Type": "x; charset=idna"})
@example({"Content-Type": "multipart/form-data; boundary=\xff"})
@example({"Content-Type": "multipart/form-data; boundary*=bogus''x"})
@example({"X-HTTP-Method-Override": "DELETE"})
@example({"Range": "bytes=0-1"})
@example({"Host": "evil.example"})
def test_any_headers(judged: Judged, headers: dict[str, str]) -> None:
    """A charset with which Python cannot decode used to end in a bare 500 before any view ran.

    A Host other than the server's own is refused.
    """
    posted = judged("POST", "/wake/v1/deliver", headers=headers, body=BODY)
    swept = judged("GET", "/wake/v1/responses", headers=headers, query="agent_id=%41")

    expected = (400, 400) if "Host" in headers else (201, 200)
    assert (posted.status, swept.status) == expected


@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\x00"), max_size=300))
def test_any_idempotency_key(judged: Judged, text: str) -> None:
    answer = judged("POST", "/wake/v1/deliver", headers={"Idempotency-Key": text}, body=BODY)

    assert answer.status in {201, 422}


@given(header_values)
@example("Bearer wk_live_" + "0" * 36)
@example("Bearer wk_test_" + "z" * 36)
@example("Bearer " + "x" * 100_000)
@example("Bearer \t\x0b\xa0")
def test_any_authorization(key: ApiKey, text: str) -> None:
    answer = ask("POST", "/wake/v1/deliver", headers={"Authorization": text}, body=BODY)

    assert answer.status in {401, 429}
    assert answer.headers["Content-Type"] == "application/json"
    assert not Delivery.objects.exists()


@given(st.sampled_from(["", "0", "-1", "1", "9" * 30, "9" * 5_000, "x", "1.5", "\xb2"]))
def test_any_content_length(judged: Judged, length: str) -> None:
    """A server would not let these header values through, but they must do no harm."""
    answer = judged("POST", "/wake/v1/deliver", headers={"Content-Length": length}, body=BODY)

    assert answer.status in {201, 400, 413}
