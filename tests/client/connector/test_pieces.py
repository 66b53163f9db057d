"""A command hands out artifacts in pieces while it works, and each piece arrives once."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

from tests.client.connector.relay import a_connector, a_relay, task_frame
from tests.client.connector.scenarios import scenario, sh
from wake_client.connector.pieces import Pieces
from wake_client.connector.progress import Report, extract


def piece(*texts: str, name: str = "log", append: bool = True, **more: Any) -> dict[str, Any]:
    parts = [{"text": text} for text in texts]
    return {"artifactId": name, "parts": parts, "append": append, **more}


def line(artifact: dict[str, Any], **more: Any) -> str:
    return json.dumps({"state": "working", "artifact": artifact, **more})


def collected(*artifacts: dict[str, Any]) -> Pieces:
    pieces = Pieces(count(1).__next__, at=0)
    for artifact in artifacts:
        pieces.add(artifact, at=0)
    return pieces


def test_pieces_are_removed_from_the_answer() -> None:
    reports: list[Report] = []
    output = f"{line(piece('a'), text='Half.')}\nThe answer.\n{line(piece('b'))}\n".encode()

    rest = extract(output, reports.append)

    assert rest == b"The answer.\n"
    assert reports == [Report("Half.", piece("a")), Report("", piece("b"))]


def test_the_first_piece_of_an_artifact_replaces_what_is_there() -> None:
    """A run may be started again, and its result may come again."""
    pieces = collected(piece("a"), piece("x", name="other"))

    assert [one["append"] for _, one in pieces.next(at=0)] == [False, False]
    pieces.add(piece("b"), at=1)
    assert [(number, one["append"]) for number, one in pieces.next(at=1)] == [(3, True)]


def test_pieces_that_come_together_are_sent_together() -> None:
    pieces = Pieces(count(1).__next__, at=0)

    assert pieces.add(piece("a"), at=0) == 0
    assert pieces.next(at=0) == [(1, piece("a", append=False))]
    assert pieces.add(piece("b"), at=0.125) == 0.125
    assert pieces.add(piece("c", lastChunk=True), at=0.15) is None
    assert pieces.next(at=0.25) == [(2, piece("bc", lastChunk=True))]
    assert pieces.add(piece("d"), at=1_800) == 0
    pieces.next(at=1_800)
    pause = pieces.add(piece("e"), at=1_801)
    assert pause is not None
    assert pause > 20, "A long run sends less often."


def test_a_piece_that_replaces_is_not_joined() -> None:
    pieces = collected(piece("a"), piece("b", append=False), piece("c", "d"), piece("e", name="x"))

    sent = [one for _, one in pieces.next(at=0)]

    assert sent == [
        piece("a", append=False),
        piece("bc", "d", append=False),
        piece("e", name="x", append=False),
    ]


def test_only_plain_texts_are_joined() -> None:
    data = {"artifactId": "log", "append": True, "parts": [{"data": 1}]}

    ((_, sent),) = collected(piece("a"), data, data).next(at=0)

    assert sent["parts"] == [{"text": "a"}, {"data": 1}, {"data": 1}]


def test_the_result_repeats_every_piece_under_its_number() -> None:
    pieces = collected(piece("a"))
    pieces.next(at=0)
    pieces.add(piece("b"), at=1)

    assert pieces.for_result() == [piece("a", append=False, n=1), piece("b", n=2)]


@scenario
async def test_pieces_are_sent_while_the_command_runs_and_again_after_a_lost_connection(
    journal: Path,
) -> None:
    gate = journal.with_name("gate")
    script = f"echo '{line(piece('a'))}'; while ! test -e {gate}; do sleep 0.05; done; echo red"
    async with a_relay() as relay:
        relay.welcome["pieces"] = True
        async with a_connector(relay, journal, *sh(script)):
            await relay.send(task := task_frame())
            first = await relay.next("progress")
            await relay.lose()
            again = await relay.next("progress")
            gate.touch()
            result = await relay.next("result")

    assert (
        first
        == again
        == {
            **{"type": "progress", "n": 1, "artifact": piece("a", append=False)},
            **{name: task[name] for name in ("dispatch_id", "lease_id")},
        }
    )
    assert result["artifacts"] == [piece("a", append=False, n=1)]
    assert (result["state"], result["text"]) == ("completed", "red")


@scenario
async def test_an_older_relay_gets_pieces_with_the_result_alone(journal: Path) -> None:
    """An older relay would add the pieces twice."""
    script = f"echo '{line(piece('a'))}'; echo '{line(piece('b'))}'; echo red"
    async with a_relay() as relay, a_connector(relay, journal, *sh(script)):
        await relay.send(task_frame())
        received: list[dict[str, Any]] = []
        while not received or received[-1]["type"] != "result":
            received.append(await relay._received.get())

    assert "progress" not in {frame["type"] for frame in received}
    assert received[-1]["artifacts"] == [piece("ab", append=False, n=1)]
