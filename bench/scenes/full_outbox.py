"""Fills the outbox with due callbacks, drains it as the worker's job does, and prints how long that
took (bench/callbacks.py): `python -m bench.scenes.full_outbox COUNT PORT...`."""

# ruff: noqa: E402 - models are imported when Django is set up

from __future__ import annotations

import gc
import json
import sys
import time
from datetime import timedelta

import django

django.setup()

from accounts.models import Agent
from database.clock import database_now
from wake import wire
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackHost, Delivery, Response

SPREAD = timedelta(microseconds=1)
WARM_UP = 400


def main(count: int, ports: list[int]) -> None:
    gc.collect()
    gc.freeze()  # the worker does the same when it starts (wake/server/work/celery.py)
    gc.set_threshold(10_000)
    fill(WARM_UP, ports)
    send_due(seconds=120)
    fill(count, ports)
    started, cpu = time.perf_counter(), time.process_time()
    attempts = send_due(seconds=600)
    took = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
    unfinished = Callback.objects.unfinished().count()
    if attempts != count or unfinished:
        raise SystemExit(f"{attempts} attempts of {count} callbacks; {unfinished} are not sent")
    print(json.dumps(took))  # noqa: T201 - for the bench, which started this


def fill(count: int, ports: list[int]) -> None:
    """Writes the rows that a person's approval leaves when its hold is over."""
    agent = Agent.objects.get()
    for port in ports:
        CallbackHost.objects.get_or_create(team_id=agent.team_id, pattern=f"127.0.0.1:{port}")
    now = database_now()
    deliveries, responses, callbacks = [], [], []
    for number in range(count):
        at = now + number * SPREAD - timedelta(minutes=1)
        host = f"127.0.0.1:{ports[number % len(ports)]}"
        delivery = Delivery(
            team_id=agent.team_id,
            agent=agent,
            claimed_agent_id=agent.agent_id,
            provider="claude",
            type="question",
            headline="Market report ready for your review",
            summary="Analysed the ten largest competitors in the space.",
            callback_webhook=f"http://{host}/hook",
            content_hash="0" * 64,
            created_at=at,
            activity_at=at,
            answered_at=at,
            status="approved",
        )
        response = Response(
            delivery=delivery,
            status="approved",
            by_name="Alice",
            answered_at=at,
            release_at=at,
            responded_at=at,
        )
        body = wire.encode(
            wire.answer(
                delivery_id=delivery.pk,
                expires_at=None,
                status="approved",
                answered_at=at,
                responded_at=at,
                at=at,
            )
        )
        deliveries.append(delivery)
        responses.append(response)
        callbacks.append(
            Callback(
                response=response,
                agent=agent,
                team_id=agent.team_id,
                url=delivery.callback_webhook,
                host=host,
                body=body,
                due_at=at,
            )
        )
    Delivery.objects.bulk_create(deliveries, batch_size=1_000)
    Response.objects.bulk_create(responses, batch_size=1_000)
    Callback.objects.bulk_create(callbacks, batch_size=1_000)


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(port) for port in sys.argv[2:]])
