"""Takes jobs from RabbitMQ, without the 28 queues that Celery adds to a quorum queue.

They are for jobs with a countdown, which no job has (docs/decisions/0096-rabbitmq-is-a-broker.md).
"""

from celery.worker import consumer

STEPS = consumer.Consumer.Blueprint.default_steps
COUNTDOWNS = "celery.worker.consumer.delayed_delivery:DelayedDelivery"
FEWER = {"default_steps": [step for step in STEPS if step != COUNTDOWNS]}


class Consumer(consumer.Consumer):
    Blueprint = type("Blueprint", (consumer.Consumer.Blueprint,), FEWER)
