"""Sizes are written as people say them."""

from __future__ import annotations

import pytest

from pages.sizes import size


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (2_048, "2 kB"),
        (1_500_000, "1.5 MB"),
        (1_000_000_000, "1 GB"),
        (1_073_741_824, "1 GB"),
        (3 * 10**12, "3 TB"),
    ],
)
def test_a_size_has_at_most_one_decimal(count: int, words: str) -> None:
    assert size(count) == words
