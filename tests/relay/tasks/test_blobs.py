"""Large files of tasks are stored separately and fetched by a link that works for a day."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any

import pytest
from django.core import signing
from django.utils import timezone

from relay.content import blobs
from relay.models import Blob, CallerKey, Card, Task
from relay.protocol.parts import write_parts
from relay.protocol.versions import Version
from tests.fixtures.strict_client import Client
from tests.relay.fake_connector import ask

LARGE = b"\x89PNG" * 20_000


class Yesterday(signing.TimestampSigner):
    def timestamp(self) -> str:
        return signing.b62_encode(int(time.time() - blobs.GOOD_FOR.total_seconds()) - 1)


def part(content: bytes, **more: str) -> dict[str, Any]:
    return {"raw": base64.b64encode(content).decode(), **more}


def path_of(blob: Blob) -> str:
    return blobs.url_of(blob.pk).removeprefix("http://127.0.0.1:8000")


@pytest.fixture
def task(card: Card, caller_key: CallerKey) -> Task:
    return ask(card, caller_key)


@pytest.fixture
def blob(task: Task) -> Blob:
    large = part(LARGE, filename="chart.png", mediaType="image/png")
    blobs.store_large(task, [large], timezone.now())
    return Blob.objects.get()


def test_only_large_parts_are_stored_as_blobs(task: Task) -> None:
    exactly = part(b"x" * blobs.LARGE)
    text = {"text": "y" * 100_000}
    large = part(LARGE, filename="chart.png", mediaType="image/png")

    stored = blobs.store_large(task, [text, exactly, large], timezone.now())

    blob = Blob.objects.get()
    assert stored[:2] == [text, exactly]
    assert stored[2] == {
        "blob": str(blob.pk),
        "size": len(LARGE),
        "filename": "chart.png",
        "mediaType": "image/png",
    }
    assert bytes(blob.content) == LARGE
    assert blob.sha256 == hashlib.sha256(LARGE).hexdigest()


def test_the_link_is_a_download_without_a_key_or_a_session(blob: Blob) -> None:
    file = Client().get(path_of(blob))

    assert file.status_code == 200
    assert file.content == LARGE
    assert file["Content-Type"] == "image/png"
    assert file["Content-Disposition"] == 'attachment; filename="chart.png"'
    assert file["X-Content-Type-Options"] == "nosniff"
    assert file["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "no-store" in file["Cache-Control"]
    assert not file.cookies


def test_a_page_of_another_site_that_has_the_link_reads_the_file(blob: Blob) -> None:
    """A page of another site may call an agent with a caller key, and then gets links to files."""
    file = Client(headers={"Origin": "https://elsewhere.example"}).get(path_of(blob))

    assert file["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("media_type", ["text/html", "text/html\r\nX-A: b", "", "a" * 99, "é/è"])
def test_an_invalid_media_type_is_not_sent(task: Task, media_type: str) -> None:
    blobs.store_large(task, [part(LARGE, mediaType=media_type)], timezone.now())

    file = Client().get(path_of(Blob.objects.get()))

    known = media_type if media_type == "text/html" else "application/octet-stream"
    assert file["Content-Type"] == known
    assert file["Content-Disposition"].startswith("attachment")
    assert "X-A" not in file.headers


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ('a"; filename="b.exe', 'filename="a\\"; filename=\\"b.exe"'),
        ("a\r\nX-A: b", 'filename="aX-A: b"'),
        ("a.txt\n", 'filename="a.txt"'),
        ("../../etc/passwd", 'filename="passwd"'),
        ("C:\\autoexec.bat", 'filename="autoexec.bat"'),
        ("reports/..", 'filename="file"'),
        ("\u202egpj.exe", 'filename="gpj.exe"'),
        ("é.png", "filename*=utf-8''%C3%A9.png"),
    ],
)
def test_a_file_name_cannot_break_the_header(task: Task, name: str, header: str) -> None:
    blobs.store_large(task, [part(LARGE, filename=name)], timezone.now())

    file = Client().get(path_of(Blob.objects.get()))

    assert file.status_code == 200
    assert file["Content-Disposition"] == f"attachment; {header}"
    assert "X-A" not in file.headers


def test_a_forged_or_expired_link_is_a_404(blob: Blob, task: Task) -> None:
    good = path_of(blob)
    old = Yesterday(salt=blobs.SALT).sign_object(str(blob.pk))
    other = signing.dumps(str(blob.pk), salt="something.else")

    wrong = [good[:-1], f"/artifacts/{old}", f"/artifacts/{other}", f"/artifacts/{blob.pk}"]

    assert [Client().get(path).status_code for path in wrong] == [404] * 4
    blob.delete()
    assert Client().get(good).status_code == 404


def test_a_file_without_its_encryption_key_is_a_503(task: Task, settings: Any) -> None:
    """This answer used to be a 500, like an unexpected error."""
    settings.WAKE_ENCRYPT_CONTENT = True
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-is-lost-by-tomorrow-morning"]
    blobs.store_large(task, [part(LARGE, filename="chart.png")], timezone.now())
    path = path_of(Blob.objects.get())
    settings.WAKE_ENCRYPTION_KEYS = ["a-key-that-everything-else-is-stored-with"]

    file = Client(raise_request_exception=False).get(path)

    assert file.status_code == 503
    assert file["Retry-After"] == "60"
    assert file["Content-Type"] == "text/plain"
    assert b"lacks its encryption key" in file.content
    assert "attachment" not in file.get("Content-Disposition", "")


@pytest.mark.parametrize(("version", "uri"), [("1.0", ["url"]), ("0.3", ["file", "uri"])])
def test_callers_get_a_link_instead_of_the_content(
    task: Task, blob: Blob, version: Version, uri: list[str]
) -> None:
    stored = [{"blob": str(blob.pk), "size": len(LARGE), "filename": "chart.png"}]

    (written,) = write_parts(stored, version)

    url: Any = written
    for name in uri:
        url = url[name]
    assert Client().get(url.removeprefix("http://127.0.0.1:8000")).content == LARGE
    assert "blob" not in str(written.keys())
