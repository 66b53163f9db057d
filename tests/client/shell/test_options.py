"""`wake ask --option` asks people to choose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inbox.rendering.blocks import requested_input
from tests.client.shell.test_deliveries import CONTENT, body, wake
from tests.client.test_sdk import APPROVED, RECEIPT, Server, ok
from tests.client.test_uploads import BLOB, PNG

TWO = ["--option", "A=One price", "--option", "B"]
A, B = {"id": "A", "label": "One price"}, {"id": "B", "label": "B"}
BLOCK = {"type": "choice", "name": "choice", "options": [A, B]}


def asked(*words: str) -> Any:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))
    assert wake(server, "ask", *CONTENT, *words) == 0
    return body(server)["details"]


def details(folder: Path, content: Any) -> list[str]:
    path = folder / "details"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return ["--details", str(path)]


def test_the_options_are_a_choice() -> None:
    sent = asked(*TWO)

    assert sent == {"wake_blocks": 1, "blocks": [BLOCK], "text": "One price\nB"}
    assert requested_input(json.dumps(sent)).proposal == {"choice": None}


def test_an_option_is_recommended() -> None:
    sent = asked(*TWO, "--recommend", "B")

    assert sent["blocks"][0]["options"] == [A, {**B, "recommended": True}]
    assert requested_input(json.dumps(sent)).proposal == {"choice": "B"}


@pytest.mark.parametrize(
    ("content", "before", "after", "text"),
    [
        ("Both *fit*.", [{"type": "markdown", "text": "Both *fit*."}], [], "One price\nB"),
        ({"price": 3}, [{"type": "kv", "items": {"price": 3}}], [], "One price\nB"),
        (
            {"wake_blocks": 1, "text": "T", "blocks": [{"type": "text", "text": "x"}]},
            [],
            [{"type": "text", "text": "x"}],
            "T\nOne price\nB",
        ),
    ],
)
def test_the_details_are_beside_the_choice(
    content: Any, before: list[Any], after: list[Any], text: str, tmp_path: Path
) -> None:
    sent = asked(*TWO, *details(tmp_path, content))

    assert sent == {"wake_blocks": 1, "blocks": [*before, BLOCK, *after], "text": text}


def test_a_picture_is_beside_the_choice(tmp_path: Path) -> None:
    (tmp_path / "page.png").write_bytes(PNG)
    server = Server(ok(BLOB, 201), ok(RECEIPT, 201), ok(APPROVED))

    wake(server, "ask", *CONTENT, *TWO, "--image", str(tmp_path / "page.png"))

    assert [block["type"] for block in body(server, 1)["details"]["blocks"]] == ["choice", "image"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--recommend", "A"], "add them with --option"),
        ([*TWO, "--recommend", "One price"], "none of the options: A, B"),
        ([*TWO, "--recommend", "A", "--recommend", "B"], "for one option"),
        ([*TWO, "--option", "A"], "different ids"),
        (["--option", "=Both"], "1 to 64"),
        (["--option", "x" * 65], "1 to 64"),
        (["--option", " "], "needs a label"),
        (["--option", "A= "], "needs a label"),
    ],
)
def test_options_that_people_could_not_choose_from_are_refused(
    words: list[str], reason: str
) -> None:
    server = Server(ok(RECEIPT, 201))

    with pytest.raises(ValueError, match=reason):
        wake(server, "ask", *CONTENT, *words)

    assert server.requests == []


def test_details_with_a_choice_of_their_own_are_refused(tmp_path: Path) -> None:
    own = details(tmp_path, {"wake_blocks": 1, "blocks": [{**BLOCK, "label": "Which?"}]})

    with pytest.raises(ValueError, match="leave out --option"):
        wake(Server(ok(RECEIPT, 201)), "ask", *CONTENT, *TWO, *own)


@pytest.mark.parametrize(
    "content",
    [
        {"text": 5, "blocks": []},
        {"text": "", "blocks": []},
        {"blocks": [{"type": "choice", "name": ["choice"], "options": []}]},
        {"blocks": [{"type": "field", "label": "A field without a name"}]},
        {"blocks": ["choice", None]},
    ],
)
def test_odd_blocks_do_not_hide_the_options(content: Any, tmp_path: Path) -> None:
    sent = asked(*TWO, *details(tmp_path, {"wake_blocks": 1, **content}))

    assert sent["text"] == "One price\nB"
    assert sent["blocks"] == [BLOCK, *content["blocks"]]
    assert requested_input(json.dumps(sent)).proposal == {"choice": None}
