"""The SDK works with a real server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

import wake_client
from accounts.models import Agent
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.wake.blobs.drawing import drawn
from wake.models import Attachment, Delivery
from wake_client import AsyncWakeClient, WakeClient, blocks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]


def test_a_question_is_asked_answered_and_swept(
    caller: AgentClient, agent: Agent, answer: Callable[..., Any], subtests: pytest.Subtests
) -> None:
    """One server serves all steps, because starting a server takes longer than all steps
    together."""
    with served("asgi") as origin:
        key = caller.key.text  # type: ignore[attr-defined]
        with WakeClient(origin, key, agent_id=agent.agent_id, retry_for=30) as client:
            receipt = client.deliver(
                "question",
                "Two colours are left for the fence",
                "Approve red, or redirect me with another.",
                details={"colours": ["red", "blue"]},
                timeout_seconds=3600,
                assumption="Red.",
                on_timeout="proceed",
                thread="fence",
            )

            with subtests.test("it arrived as it was sent"):
                delivery = Delivery.objects.get()
                assert str(delivery.pk) == receipt.delivery_id
                assert (delivery.thread, delivery.assumption) == ("fence", "Red.")
            with subtests.test("it is pending, and its window is known"):
                pending = client.response(receipt.delivery_id)
                assert (pending.status, pending.is_final) == ("pending", False)
                assert pending.expires_at == delivery.expires_at
            with subtests.test("an answer ends the wait"):
                later = threading.Timer(
                    0.5, answer, (delivery, "redirected"), {"edited_json": '{"colour": "blue"}'}
                )
                later.start()
                answered = client.wait(receipt.delivery_id, timeout=60)
                later.join()
                assert (answered.status, answered.edited_content) == (
                    "redirected",
                    {"colour": "blue"},
                )
            with subtests.test("a sweep brings it once"):
                sweep = client.responses()
                assert list(sweep) == [answered]
                assert list(client.responses(since=sweep.next_since)) == []
            with subtests.test("the same key of one's own is the same delivery"):
                first, second = (
                    client.deliver("update", "Painted", "All of it.", idempotency_key="mine")
                    for _ in range(2)
                )
                assert (first.replayed, second.replayed) == (False, True)
                assert first.delivery_id == second.delivery_id
            with subtests.test("a picture is uploaded, and shown by a delivery"):
                blob = client.upload(drawn())
                page = blocks.page(blocks.image(blob, "A gradient"), blocks.file(blob, "a.png"))
                shown = client.deliver("update", "Painted", "All of it.", details=page)
                attachment = Attachment.objects.get(delivery_id=UUID(shown.delivery_id))
                assert str(attachment.blob_id) == blob.blob_id
                assert (blob.width, blob.height) == (40, 30)
            with subtests.test("a picture that is none is refused"):
                with pytest.raises(wake_client.NotAccepted) as no_picture:
                    client.upload(b"<svg/>", media_type="image/svg+xml")
                assert no_picture.value.code == "unsupported_media_type"
            with subtests.test("a field that does not fit is named"):
                with pytest.raises(wake_client.NotAccepted) as refused:
                    client.deliver("update", "x" * 121, "All of it.")
                assert [problem.field for problem in refused.value.fields] == ["headline"]
            with subtests.test("the client that awaits reads the same"):
                assert asyncio.run(_awaited(origin, key, agent.agent_id)) == (
                    [answered],
                    blob.blob_id,
                )
        with subtests.test("another key is refused"):
            other = WakeClient(origin, "wk_live_made_up", agent_id=agent.agent_id)
            with other, pytest.raises(wake_client.KeyNotValid) as raised:
                other.response(receipt.delivery_id)
            assert raised.value.code == "unauthorized"


async def _awaited(origin: str, key: str, agent_id: str) -> tuple[list[wake_client.Answer], str]:
    async with AsyncWakeClient(origin, key, agent_id=agent_id) as client:
        blob = await client.upload(drawn())
        return [one async for one in client.responses()], blob.blob_id
