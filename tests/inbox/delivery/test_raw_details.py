"""Details are shown raw and downloaded as the agent sent them, and never run in a browser."""

from __future__ import annotations

from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


def test_the_raw_view_and_the_download_are_unchanged(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    sent = '{"b": 1.10, "a": "<script>alert(1)</script>"}'
    delivery = make_delivery(details_json=sent)

    download = alices.get(f"/deliveries/{delivery.pk}/raw")
    raw = alices.see(delivery, details="raw")

    assert download.content.decode() == sent
    assert download["Content-Type"] == "text/plain; charset=utf-8"
    assert download["Content-Disposition"] == f'attachment; filename="{delivery.pk}.json"'
    assert download["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert download["X-Content-Type-Options"] == "nosniff"
    assert "&quot;b&quot;: 1.10" in raw.content.decode()
    assert "<script>alert" not in raw.content.decode()


def test_deep_details_are_not_indented_to_a_page_of_megabytes(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    sent = f'{{"a": {"[" * 60}{"0,1," * 40_000}2{"]" * 60}}}'
    delivery = make_delivery(details_json=sent)

    raw = alices.see(delivery, details="raw")

    assert "0, 1, 0, 1" in raw.content.decode()
    assert len(raw.content) < 2_000_000
    assert alices.get(f"/deliveries/{delivery.pk}/raw").content.decode() == sent


def test_a_text_is_downloaded_as_the_text_itself(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='"one\\ntwo \\u202e"')

    download = alices.get(f"/deliveries/{delivery.pk}/raw")

    assert download.content.decode() == "one\ntwo \u202e"
    assert f'filename="{delivery.pk}.txt"' in download["Content-Disposition"]


def test_without_details_there_is_nothing_to_download(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    assert "No details." in text_of(alices.see(delivery))
    assert alices.get(f"/deliveries/{delivery.pk}/raw").status_code == 404
