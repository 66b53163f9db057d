"""`wake watch` prints answers as they arrive, also after a pause of the server."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.client.shell.command import wake
from tests.client.test_sdk import APPROVED, ID, Server, error, ok


def page(*answers: Any, since: str | None) -> httpx.Response:
    return ok(
        {"deliveries": answers, "total": len(answers), "has_more": False, "next_since": since}
    )


def stopped() -> Exception:
    return KeyboardInterrupt()  # type: ignore[return-value]


def test_only_new_answers_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    redirected = {**APPROVED, "status": "redirected", "edited_content": {"colour": "blue"}}
    server = Server(
        page(APPROVED, since="a"),
        page(since="a"),
        error(503, "unavailable"),
        page({**APPROVED, "feedback": "Two\nlines."}, redirected, since="b"),
        stopped(),
    )

    assert raising_keyboard_interrupt(server, "watch") == 130

    printed = capsys.readouterr()
    assert printed.out == f'{ID} approved Two lines.\n{ID} redirected {{"colour": "blue"}}\n'
    sinces = [request.url.params.get("since") for request in server.requests]
    assert sinces == [None, "a", "a", "a", "b"]
    assert server.requests[-1].url.params["wait"] == "25"


def test_each_answer_can_be_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(page(APPROVED, APPROVED, since="b"), stopped())

    raising_keyboard_interrupt(server, "watch", "--since", "2026", "--json")

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["delivery_id"] for line in lines] == [ID, ID]
    assert server.requests[0].url.params["since"] == "2026"


def test_a_revoked_key_ends_it() -> None:
    assert wake(Server(page(since=None), error(401, "unauthorized")), "watch") == 3


def raising_keyboard_interrupt(server: Server, *words: str) -> int:
    answer = server.answer

    def answer_or_stop(request: httpx.Request) -> httpx.Response:
        if isinstance(server.answers[0], KeyboardInterrupt):
            server.requests.append(request)
            raise KeyboardInterrupt
        return answer(request)

    server.answer = answer_or_stop  # type: ignore[method-assign]
    return wake(server, *words)
