"""The codes of authenticator apps match the table of RFC 6238."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from accounts.sign_in.two_step import one_time_codes

# RFC 6238, appendix B, SHA-1; the last six of the eight digits there.
SECRET = base64.b32encode(b"12345678901234567890").decode()
AT = datetime(2026, 11, 21, 10, 0, 10, tzinfo=UTC)
NOW = one_time_codes.step_at(AT)


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_codes_match_the_table_of_the_rfc(seconds: int, code: str) -> None:
    assert one_time_codes.code_at(SECRET, seconds // 30) == code


@pytest.mark.parametrize(
    ("away", "is_accepted"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_a_clock_may_be_half_a_minute_off(away: int, is_accepted: bool) -> None:
    code = one_time_codes.code_at(SECRET, NOW + away)

    step = one_time_codes.fitting_step(SECRET, code, at=AT, after=0)

    assert step == (NOW + away if is_accepted else None)


def test_a_code_must_be_newer_than_the_last_one() -> None:
    code = one_time_codes.code_at(SECRET, NOW)

    assert one_time_codes.fitting_step(SECRET, code, at=AT, after=NOW) is None
    assert one_time_codes.fitting_step(SECRET, code, at=AT, after=NOW - 1) == NOW


@pytest.mark.parametrize("typed", ["", "0", "28708", "2870820", "ab\u00e9\U0001f511", "²²²²²²"])
def test_a_malformed_code_is_refused(typed: str) -> None:
    assert one_time_codes.fitting_step(SECRET, typed, at=AT, after=0) is None


def test_secrets_are_as_long_as_the_hash_and_never_the_same() -> None:
    new_secrets = {one_time_codes.new_secret() for _ in range(50)}

    assert len(new_secrets) == 50
    assert {len(base64.b32decode(secret)) for secret in new_secrets} == {20}


def test_the_address_in_the_qr_code_is_escaped() -> None:
    uri = one_time_codes.uri("ABC", email="a+b@example.com", issuer="Wake on wake.example.com")

    assert uri == (
        "otpauth://totp/Wake%20on%20wake.example.com:a%2Bb%40example.com"
        "?secret=ABC&issuer=Wake%20on%20wake.example.com"
    )
