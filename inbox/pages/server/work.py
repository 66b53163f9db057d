"""Describes the work of the server: queues, workers, the broker and callbacks."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import Max

from inbox.pages.server.subjects import WORKERS, WRONG, Concern, Subject
from pages.times import amount
from wake.models import Heartbeat
from wake.server.health import broker
from wake.server.health.views import OVERDUE_AFTER, SILENT_AFTER
from wake.server.metrics import figures, queues


def queue_subject(at: datetime) -> Subject:
    """Makes one or two queries for each queue."""
    rows, problems = {}, []
    for name, first_due in queues.QUEUES.items():
        title = name.replace("_", " ").capitalize()
        first = first_due(at)
        if first is None:
            rows[title] = "Nothing is due."
            continue
        since = at - first
        rows[title] = f"Due for {amount(since)}."
        if since > OVERDUE_AFTER:
            text = f"{title}: work has been due for {amount(since)}, and no worker has done it."
            action = "Look whether workers and beat run. If they do, start more workers."
            problems.append(Concern(text, action, WRONG))
    sentences = ["Nothing in a queue is lost. It is done as soon as a worker comes to it."]
    return Subject("queues", "Queues", sentences, problems, ("Queue", "Oldest work"), rows)


def worker_subject(at: datetime) -> Subject:
    last = Heartbeat.objects.aggregate(last=Max("at"))["last"]
    action = "Start workers and beat. Nothing is lost, but nothing is sent until then."
    if last is None:
        problem = Concern("No worker has ever run with this database.", action, WORKERS)
        return Subject("workers", "Workers and beat", [], [problem])
    since = amount(at - last)
    if at - last > SILENT_AFTER:
        text = f"No worker has taken a job of beat for {since}."
        return Subject("workers", "Workers and beat", [], [Concern(text, action, WORKERS)])
    sentence = f"A worker took a job of beat {since} ago. Beat sends one every 10 s."
    return Subject("workers", "Workers and beat", [sentence])


def broker_subject() -> Subject:
    """Asks RabbitMQ and Redis, with a deadline of about a second."""
    if not settings.REDIS_URL:
        return Subject(
            "broker", "Broker", ["None is needed, because one worker does all the work."]
        )
    answer = {"Redis": broker.redis_answers()}
    if settings.WAKE_USES_RABBITMQ:
        answer = {"RabbitMQ": broker.answers(), **answer}
    action = "Restart it. Until then, workers look for due work by themselves."
    return Subject(
        "broker",
        "Broker",
        [f"{name} answers." for name, is_there in answer.items() if is_there],
        [
            Concern(f"{name} does not answer.", action, WRONG)
            for name, is_there in answer.items()
            if not is_there
        ],
    )


def web_subject() -> Subject:
    sentences = [
        "This page comes from a web process, so web runs.",
        "Ask each web and stream process for its own health at /healthz.",
    ]
    return Subject("web", "Web and stream", sentences)


def callback_subject(at: datetime) -> Subject:
    numbers = {state: int(number) for (state,), number in figures.callbacks(at).items()}
    hosts = int(figures.suspended_targets(at)[()])
    rows = {
        "Being sent": counted(numbers["sending"]),
        "Due": counted(numbers["due"]),
        "Waiting for their next attempt": counted(numbers["waiting"]),
        "Held back, because their host is suspended": counted(numbers["suspended"]),
        "Suspended hosts": counted(hosts),
    }
    sentences = []
    if hosts:
        sentences = ["The team of a suspended host can resume it under Callbacks."]
    return Subject("callbacks", "Callbacks", sentences, [], ("Callbacks", "How many"), rows)


def counted(number: int) -> str:
    """Returns `12`, or `10,000 or more` where counting stopped."""
    return f"{number:,} or more" if number >= figures.MAX_COUNT else f"{number:,}"
