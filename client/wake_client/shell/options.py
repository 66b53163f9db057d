"""Adds the choice of `--option` and `--recommend` to the details."""

from __future__ import annotations

import argparse
from typing import Any

from wake_client import blocks

CHOICE = "choice"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--option",
        metavar="ID[=LABEL]",
        action="append",
        default=[],
        help="one of the options that people choose from; may be repeated",
    )
    parser.add_argument(
        "--recommend",
        metavar="ID",
        action="append",
        default=[],
        help="the option that you recommend; approved means this one",
    )


def with_options(details: Any, arguments: argparse.Namespace) -> Any:
    """Returns the details with a choice of the options. Without options, the details are unchanged.
    Raises ValueError."""
    if len(arguments.recommend) > 1:
        raise ValueError("--recommend is for one option: leave out the others.")
    recommended = arguments.recommend[0] if arguments.recommend else None
    if not arguments.option:
        if recommended is not None:
            raise ValueError("--recommend names one of the options: add them with --option.")
        return details
    options = [_option(text, recommended) for text in arguments.option]
    ids = [option["id"] for option in options]
    if recommended not in {None, *ids}:
        raise ValueError(f"--recommend is none of the options: {', '.join(ids)}.")
    choice = blocks.choice("", options, name=CHOICE)
    words = "\n".join(option["label"] for option in options)
    match details:
        case {"wake_blocks": 1, "blocks": list(own)}:
            if any(_name(block) == CHOICE for block in own):
                raise ValueError(f"The details ask for {CHOICE!r} already: leave out --option.")
            sent = details.get("text")
            text = f"{sent}\n{words}" if sent and isinstance(sent, str) else words
            # The choice comes first, because a page shows a limited number of blocks.
            return {**details, "text": text, "blocks": [choice, *own]}
        case str():
            return blocks.page(blocks.markdown(details), choice, text=words)
        case dict():
            return blocks.page(blocks.pairs(details), choice, text=words)
    return blocks.page(choice, text=words)


def _option(text: str, recommended: str | None) -> blocks.Block:
    id, _, label = text.partition("=")
    return blocks.option(id, label, recommended=id == recommended)


def _name(block: Any) -> Any:
    """Returns the name under which a block asks for a value, or None if it asks for none."""
    match block:
        case {"type": "choice"}:
            return block.get("name", CHOICE)
        case {"type": "field"}:
            return block.get("name")
    return None
