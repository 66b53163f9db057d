"""The broker in a folder behaves like kombu's own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from celery import Celery
from kombu import Connection

import wake.server.work.folder_broker  # noqa: F401 - so that kombu knows what folder: means

pytestmark = pytest.mark.once

MESSAGES = 300


def connect(folder: str) -> Connection:
    options = {"data_folder_in": folder, "data_folder_out": folder}
    return Connection("folder://localhost//", transport_options=options)


def put_many(folder: str) -> None:
    with connect(folder) as connection, connection.SimpleQueue("wake") as queue:
        for number in range(MESSAGES):
            queue.put({"number": number, "and": "x" * 100_000})


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Any]:
    with connect(str(tmp_path)) as connection, connection.SimpleQueue("wake") as queue:
        yield queue.channel


def test_a_message_arrives_once_and_in_order(channel: Any, tmp_path: Path) -> None:
    with connect(str(tmp_path)) as other, other.SimpleQueue("wake") as queue:
        queue.put("first")
        queue.put("second")

    taken = [channel._get("wake")["body"] for _ in range(2)]

    assert len(set(taken)) == 2
    with pytest.raises(Empty):
        channel._get("wake")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_never_sees_half_a_message(channel: Any, tmp_path: Path) -> None:
    writer = multiprocessing.get_context("spawn").Process(target=put_many, args=(str(tmp_path),))
    writer.start()
    taken = 0
    while taken < MESSAGES and (writer.is_alive() or any(tmp_path.glob("*.msg"))):
        try:
            channel._get("wake")
            taken += 1
        except Empty:
            continue
    writer.join()

    assert taken == MESSAGES


def test_a_killed_writer_leaves_no_readable_message(channel: Any, tmp_path: Path) -> None:
    (tmp_path / "1_half.part").write_text('{"bo')

    with pytest.raises(Empty):
        channel._get("wake")


def send(folder: Path, *, args: tuple[Any, ...] = (), name: str = "wake.jobs.time_out") -> None:
    """Sends a job as Celery does."""
    options = {"data_folder_in": str(folder), "data_folder_out": str(folder)}
    app = Celery("folder", set_as_current=False, broker="folder://localhost//")
    app.conf.update(broker_transport_options=options, task_default_queue="wake")
    app.send_task(name, args, expires=30)
    app.close()


def test_a_job_waits_at_most_once(channel: Any, tmp_path: Path) -> None:
    """Beat used to go on sending while the worker was busy, and thousands of jobs expired."""
    for _ in range(3):
        send(tmp_path)
        send(tmp_path, name="wake.jobs.time_out_overdue")

    assert channel._size("wake") == 2
    taken = channel._get("wake")
    assert (taken["headers"]["task"], taken["headers"]["expires"]) == ("wake.jobs.time_out", None)

    send(tmp_path)
    assert channel._size("wake") == 2, "the one that was taken may not have seen the newest rows"


def test_jobs_with_arguments_all_wait(channel: Any, tmp_path: Path) -> None:
    for number in (1, 2, 2):
        send(tmp_path, args=(number,))

    assert channel._size("wake") == 3
