"""`/log/tile/` serves hash tiles (C2SP tlog-tiles) to everyone, and no entries."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.log import merkle, tiles
from accounts.models import LogTile
from tests.fixtures.strict_client import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def leaves() -> list[bytes]:
    leaves = [merkle.leaf_hash(b"%d" % number) for number in range(300)]
    tiles.append(0, leaves)
    return leaves


def test_a_full_tile_is_served_for_ever(leaves: list[bytes]) -> None:
    answer = Client().get("/log/tile/0/000")

    assert answer.content == b"".join(leaves[:256])
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert not answer.cookies


def test_a_partial_tile_is_served_with_its_width(leaves: list[bytes]) -> None:
    assert Client().get("/log/tile/0/001.p/44").content == b"".join(leaves[256:])
    assert Client().get("/log/tile/0/001.p/3").content == b"".join(leaves[256:259])
    assert Client().get("/log/tile/0/000.p/255").content == b"".join(leaves[:255])
    assert Client().get("/log/tile/1/000.p/1").content == merkle.root(leaves[:256])


def test_a_large_index_has_groups_of_digits(leaves: list[bytes]) -> None:
    LogTile.objects.create(level=0, index=1_234_067, hashes=b"\1" * 256 * 32)

    assert Client().get("/log/tile/0/x001/x234/067").content == b"\1" * 256 * 32


@pytest.mark.parametrize(
    "path",
    [
        "0/001",  # this tile is not full
        "0/001.p/45",
        "0/001.p/0",
        "0/001.p/044",
        "0/000.p/256",
        "0/002",
        "0/0",
        "0/0000",
        "0/x000/000",
        "0/x1/000",
        "00/000",
        "64/000",
        "-1/000",
        "0/\u0660\u0660\u0660",
        "entries/000",
        "entries/000.p/1",
        "0/" + "x999/" * 9 + "000",
        "",
    ],
)
def test_anything_else_is_not_there(leaves: list[bytes], path: str) -> None:
    answer = Client().get(f"/log/tile/{path}")

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
    assert "immutable" not in answer.get("Cache-Control", "")


def test_reads_are_limited_by_network(leaves: list[bytes], settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 20
    answers = [Client().get("/log/tile/0/000") for _ in range(30)]

    assert {answer.status_code for answer in answers} == {200, 429}
    refused = answers[-1]
    assert refused.json()["error"]["code"] == "rate_limited"
    assert int(refused["Retry-After"]) > 0


def test_tiles_are_only_read(leaves: list[bytes]) -> None:
    assert Client().post("/log/tile/0/000").status_code == 405
