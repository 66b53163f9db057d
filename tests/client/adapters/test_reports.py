"""People read once how an approved call ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.client.adapters.conftest import Died, Line, refund
from tests.client.adapters.test_approvals import Start, asked
from wake.models import Outcome

pytestmark = pytest.mark.django_db


def fails() -> None:
    raise OSError("The bank is closed.")


@pytest.mark.parametrize(("tool", "status"), [(lambda: None, "done"), (fails, "failed")])
def test_a_process_that_dies_after_its_report_reports_once(
    tool: Callable[[], None],
    status: str,
    started: Start,
    answer: Callable[..., Any],
    line: Line,
) -> None:
    answer(asked(started))
    started().verdict(refund())
    line.dies_after = "outcome"
    with pytest.raises(Died):
        started().run(refund(), tool)
    line.dies_after = None
    line.verbs.clear()

    for _ in range(2):
        started().answered()

    assert [each.status for each in Outcome.objects.all()] == [status]
    assert line.verbs == ["outcome"]
