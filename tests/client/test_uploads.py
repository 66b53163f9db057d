"""The SDK uploads a file or bytes with their media type."""

from __future__ import annotations

from pathlib import Path

import pytest

import wake_client
from tests.client.test_sdk import ID, Server, error, ok

BLOB = {
    "blob_id": ID,
    "media_type": "image/png",
    "size": 9,
    "sha256": "0" * 64,
    "width": 4,
    "height": 3,
    "expires_at": "2026-03-08T08:31:00Z",
}
PNG = b"\x89PNG\r\n\x1a\n and so on"


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.png", PNG, "image/png"),
        ("a.txt", PNG, "image/png"),
        ("a", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a", b"GIF89a", "image/gif"),
        ("a", b"RIFF....WEBPVP8 ", "image/webp"),
        ("report.pdf", b"%PDF", "application/pdf"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("Makefile", b"all:", "application/octet-stream"),
    ],
)
def test_an_upload_says_what_the_file_is(
    name: str, content: bytes, media_type: str, tmp_path: Path
) -> None:
    server = Server(ok(BLOB, 201))
    (tmp_path / name).write_bytes(content)

    blob = server.client().upload(tmp_path / name)

    (request,) = server.requests
    assert str(request.url) == "https://wake.example.com/wake/v1/blobs"
    assert (request.content, request.headers["Content-Type"]) == (content, media_type)
    assert (blob.blob_id, blob.width, blob.expires_at.year) == (ID, 4, 2026)


def test_an_upload_may_be_bytes_of_a_named_type() -> None:
    server = Server(ok(BLOB, 201))

    server.client().upload(PNG, media_type="application/octet-stream")
    server.client().upload(b"a,b")

    types = [request.headers["Content-Type"] for request in server.requests]
    assert types == ["application/octet-stream"] * 2


def test_an_upload_is_tried_again() -> None:
    server = Server(error(503, "unavailable", "2"), ok(BLOB, 201))

    server.client().upload(PNG)

    assert [request.content for request in server.requests] == [PNG, PNG]


@pytest.mark.parametrize("status", [413, 415, 422])
def test_a_refused_upload_is_an_error(status: int) -> None:
    with pytest.raises(wake_client.NotAccepted):
        Server(error(status, "invalid_image")).client().upload(PNG)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="/nowhere/x"):
        Server(ok(BLOB, 201)).client().upload("/nowhere/x")
