"""Names the callables that fixtures hand to tests (tests/fixtures/)."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import User
from inbox.models import Preferences
from tests.fixtures.strict_client import Client
from wake.models import AnsweringRule, Callback, Delivery, Response, Rule

UseSteps = Callable[[], None]
MakeDelivery = Callable[..., Delivery]
Answer = Callable[..., Response]
Answered = Callable[..., Callback]
Age = Callable[..., None]
SignedIn = Callable[[User], Client]
Prefer = Callable[..., Preferences]
Find = Callable[..., list[str]]
MakeRule = Callable[..., Rule]
MakeAnsweringRule = Callable[..., AnsweringRule]
