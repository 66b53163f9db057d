"""Uploads the files of `--image` and `--file`, and adds their blocks to the details."""

from __future__ import annotations

import argparse
from itertools import zip_longest
from pathlib import Path
from typing import Any

from wake_client import blocks
from wake_client.client import WakeClient
from wake_client.uploads import UNKNOWN, content_of, media_type_of


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--image",
        metavar="FILE",
        action="append",
        default=[],
        help="a PNG, JPEG, WebP or GIF to show; may be repeated",
    )
    parser.add_argument(
        "--alt",
        metavar="TEXT",
        action="append",
        default=[],
        help="what the picture shows, one for each --image in their order (default: its name)",
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        action="append",
        default=[],
        help="any file to download; may be repeated",
    )


def with_files(client: WakeClient, details: Any, arguments: argparse.Namespace) -> Any:
    """Returns the details with a block for each file. Without files, the details are unchanged.
    Raises ValueError for an unreadable file, and WakeError."""
    if len(arguments.alt) > len(arguments.image):
        raise ValueError("There are more --alt than --image.")
    pictures = [
        blocks.image(client.upload(_picture(path)), alt or Path(path).name)
        for path, alt in zip_longest(arguments.image, arguments.alt)
    ]
    files = [
        blocks.file(client.upload(path, media_type=_as_file(path)), Path(path).name)
        for path in arguments.file
    ]
    new = [*pictures, *files]
    return _with_blocks(details, new) if new else details


def _with_blocks(details: Any, new: list[blocks.Block]) -> Any:
    """Returns the details with these blocks. The part that a person edits stays the same."""
    match details:
        case {"wake_blocks": 1, "blocks": list(own)}:
            return {**details, "blocks": [*own, *new]}
        case str():
            return blocks.page(blocks.markdown(details), *new, proposal=details)
        case dict():
            return blocks.page(blocks.pairs(details), *new, proposal=details)
    return blocks.page(*new)


def _picture(path: str) -> bytes:
    """Returns the bytes of a picture. Raises ValueError for any other file."""
    content = content_of(path)
    if not media_type_of(content, content).startswith("image/"):
        raise ValueError(f"{path} is not a PNG, JPEG, WebP or GIF; send it with --file.")
    return content


def _as_file(path: str) -> str:
    """Returns a type with which the server stores any file, even a picture, byte for byte."""
    media_type = media_type_of(path, content_of(path))
    return UNKNOWN if media_type.startswith("image/") else media_type
