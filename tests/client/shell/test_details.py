"""`--details` sends the content of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.shell.test_deliveries import CONTENT, body, wake
from tests.client.test_sdk import RECEIPT, Server, ok


def test_details_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    path.write_bytes(b"\x89PNG\xff")
    server = Server(ok(RECEIPT, 201))

    with pytest.raises(ValueError, match=r"page\.png is not a text in UTF-8\."):
        wake(server, "deliver", "output", *CONTENT, "--details", str(path))

    assert server.requests == []


def test_json_that_is_nested_too_deeply_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "details"
    path.write_text("[" * 100_000)
    server = Server(ok(RECEIPT, 201))

    assert wake(server, "deliver", "output", *CONTENT, "--details", str(path)) == 0

    assert body(server)["details"] == "[" * 100_000
