"""A line of the protocol is one JSON object."""

from __future__ import annotations

import pytest

from wake_client.acp.messages import Unread, message_of


@pytest.mark.parametrize("line", [b"\n", b" \n", b"{\n", b"1\n"])
def test_a_line_without_an_object_has_no_message(line: bytes) -> None:
    assert message_of(line) is None


@pytest.mark.parametrize(
    "line",
    [b'{"id": 1, "id": 2}', b'{"params": {"a": 1, "a": 1}}', b"[]", b"\xff", b"[" * 100_000],
)
def test_a_line_that_the_editor_might_read_in_another_way_is_refused(line: bytes) -> None:
    with pytest.raises(Unread, match=r"\S"):
        message_of(line)
