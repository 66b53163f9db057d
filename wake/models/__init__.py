"""Defines what agents deliver, what people answer, and the callbacks that carry answers."""

from wake.models.callbacks import Callback, CallbackAttempt, CallbackHost, FailingTarget
from wake.models.deliveries import Delivery, DeliveryQuerySet
from wake.models.heartbeats import Heartbeat
from wake.models.responses import Draft, Response
from wake.models.retention import Retention

__all__ = [
    "Callback",
    "CallbackAttempt",
    "CallbackHost",
    "Delivery",
    "DeliveryQuerySet",
    "Draft",
    "FailingTarget",
    "Heartbeat",
    "Response",
    "Retention",
]
