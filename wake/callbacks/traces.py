"""Reads the trace of a request (W3C Trace Context), which its callback carries on."""

from __future__ import annotations

import re

HEADER = "traceparent"
NEWEST = "00"  # the version that this module knows
SAMPLED = 1
FIELDS = re.compile(
    r"(?P<version>(?!ff)[0-9a-f]{2})-(?!0{32})(?P<trace>[0-9a-f]{32})"
    r"-(?!0{16})(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<rest>-.*)?"
).fullmatch


def trace_of(traceparent: str) -> str:
    """Returns the id of the trace, or an empty text for an empty text."""
    return traceparent[3:35]


def read(text: str) -> str:
    """Returns the traceparent of a request, or an empty text if it is not valid. A version that is
    not known yet is read and passed on as the version that is (W3C Trace Context, 3.3 "Mutating the
    traceparent Field")."""
    match = FIELDS(text)
    if match is None or (match["version"] == NEWEST and match["rest"]):
        return ""
    if match["version"] == NEWEST:
        return text
    flags = int(match["flags"], 16) & SAMPLED
    return f"{NEWEST}-{match['trace']}-{match['span']}-{flags:02x}"
