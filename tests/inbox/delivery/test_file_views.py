"""People see the pictures and download the files of the deliveries that they may read."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from inbox.search.index import searchable
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.occupied import occupied
from tests.inbox.person import Person, text_of
from tests.wake.blobs import drawing
from tests.wake.blobs.drawing import animated, chunks, drawn, opened
from tests.wake.blobs.showing import file, image, inline, page
from wake.blobs import pictures
from wake.models import Delivery

IMG = re.compile(
    r'<figure class="picture"><a href="([^"]+)"><img src="([^"]+)" alt="([^"]*)"'
    r' width="(\d+)" height="(\d+)" loading="lazy" decoding="async"></a>'
)


def uploaded(caller: AgentClient, content: bytes, kind: str) -> dict[str, Any]:
    body: dict[str, Any] = caller.upload(content, kind).json()
    return body


def seen(person: Person, delivery_id: str) -> str:
    return str(person.get(f"/deliveries/{delivery_id}/").content.decode())


def pictures_of(person: Person, delivery_id: str) -> list[tuple[str, ...]]:
    return IMG.findall(seen(person, delivery_id))


def test_a_picture_of_the_delivery_itself_is_shown(caller: AgentClient, bob: User) -> None:
    sent = drawing.chatty_png()
    block = inline(sent, "The <new> page", caption="Before the change")
    person, delivery_id = Person(bob), caller.deliver(details=page(block))

    ((link, source, alt, width, height),) = pictures_of(person, delivery_id)
    answer = person.get(source)

    assert link == source == f"/deliveries/{delivery_id}/images/{hashlib.sha256(sent).hexdigest()}"
    assert (alt, width, height) == ("The &lt;new&gt; page", "40", "30")
    under = seen(person, delivery_id).partition("<figcaption>")[2].partition("</figcaption>")[0]
    assert ">Before the change</p>" in under
    assert ">Alternative text: The &lt;new&gt; page</small>" in under
    assert answer.status_code == 200
    assert answer["Content-Type"] == "image/png"
    assert set(chunks(answer.content)) == {"IHDR", "IDAT", "IEND"}


def test_an_uploaded_picture_is_shown(caller: AgentClient, bob: User) -> None:
    blob = uploaded(caller, drawing.photograph(), "image/jpeg")
    person, delivery_id = Person(bob), caller.deliver(details=page(image(blob["blob_id"])))

    ((_, source, _, width, height),) = pictures_of(person, delivery_id)
    answer = person.get(source)

    assert source == f"/deliveries/{delivery_id}/images/{blob['sha256']}"
    assert (width, height) == ("20", "60")
    assert answer["Content-Type"] == "image/jpeg"
    assert opened(answer.content).size == (20, 60)
    assert hashlib.sha256(answer.content).hexdigest() == blob["sha256"]


@pytest.mark.parametrize("is_inline", [True, False])
def test_a_picture_is_sent_with_headers_that_stop_everything_else(
    is_inline: bool, caller: AgentClient, bob: User
) -> None:
    sent = drawn(size=(900, 600))  # this picture would be smaller after gzip
    blob = uploaded(caller, sent, "image/png")
    block = inline(sent) if is_inline else image(blob["blob_id"])
    person, delivery_id = Person(bob), caller.deliver(details=page(block))
    ((_, source, *_),) = pictures_of(person, delivery_id)

    answer = person.client.get(source, headers={"Accept-Encoding": "gzip, br"})

    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert re.fullmatch(r'inline; filename="[0-9a-f]{12}\.png"', answer["Content-Disposition"])
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer["Cache-Control"] == "private, no-cache"
    assert not answer.has_header("Content-Encoding")
    assert answer["ETag"].startswith('"')

    again = person.client.get(source, headers={"If-None-Match": answer["ETag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again["Cache-Control"] == "private, no-cache"
    assert again["ETag"] == answer["ETag"]


def test_a_cached_picture_is_asked_for_with_the_readers_access(
    caller: AgentClient, bob: User, mallory: User
) -> None:
    blob = uploaded(caller, drawn(), "image/png")
    delivery_id = caller.deliver(details=page(image(blob["blob_id"]), inline(animated())))

    for _, source, *_ in pictures_of(Person(bob), delivery_id):
        etag = Person(bob).get(source)["ETag"]
        refused = Person(mallory).client.get(source, headers={"If-None-Match": etag})
        assert refused.status_code == 404


def test_not_yours_and_not_there_are_the_same(
    caller: AgentClient, others: AgentClient, bob: User, mallory: User
) -> None:
    blob = uploaded(caller, drawn(), "image/png")
    delivery_id = caller.deliver(details=page(image(blob["blob_id"]), file(blob["blob_id"])))
    other_id = others.deliver(details=page(image(blob["blob_id"]), file(blob["blob_id"])))
    paths = [f"images/{blob['sha256']}", f"files/{blob['blob_id']}"]
    missing = [f"images/{'0' * 64}", "files/00000000-0000-4000-8000-000000000000"]

    for path, nothing in zip(paths, missing, strict=True):
        own = Person(bob).get(f"/deliveries/{delivery_id}/{path}")
        answers = [
            Person(mallory).get(f"/deliveries/{delivery_id}/{path}"),
            Person(mallory).get(f"/deliveries/{delivery_id}/{nothing}"),
            Person(bob).get(f"/deliveries/{delivery_id}/{nothing}"),
            Person(bob).get(f"/deliveries/{other_id}/{path}"),  # of another agent of the team
        ]
        assert own.status_code == 200
        assert {answer.status_code for answer in answers} == {404}
    assert "not uploaded by this agent" in seen(Person(bob), other_id)
    assert not pictures_of(Person(bob), other_id)


def test_a_picture_asks_for_a_sign_in(caller: AgentClient, client: Any) -> None:
    blob = uploaded(caller, drawn(), "image/png")
    delivery_id = caller.deliver(details=page(image(blob["blob_id"])))

    answer = client.get(f"/deliveries/{delivery_id}/images/{blob['sha256']}")

    assert (answer.status_code, answer["Cache-Control"]) == (302, "no-store")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(drawing.SVG, "it is not a PNG, JPEG, WebP or GIF.", id="svg"),
        pytest.param(drawing.HTML, "it is not a PNG, JPEG, WebP or GIF.", id="html"),
        pytest.param(b"\x89", "it is not a PNG, JPEG, WebP or GIF.", id="one byte"),
        pytest.param(drawn()[:-40], "it is damaged or incomplete.", id="truncated"),
        pytest.param(drawing.png_of_size(2**31 - 1, 9), "pixels, and may have", id="huge"),
    ],
)
def test_a_hostile_picture_is_a_sentence(
    content: bytes, reason: str, caller: AgentClient, bob: User
) -> None:
    person = Person(bob)
    delivery_id = caller.deliver(details=page(inline(content, "What it was")))

    answer = person.get(f"/deliveries/{delivery_id}/")

    assert answer.status_code == 200
    assert f"This picture cannot be shown: {reason}" in text_of(answer) or reason in text_of(answer)
    assert "What it was" in text_of(answer)
    assert "<figure" not in answer.content.decode()
    digest = hashlib.sha256(content).hexdigest()
    assert person.get(f"/deliveries/{delivery_id}/images/{digest}").status_code == 404


def test_the_pictures_of_a_delivery_have_a_common_limit(
    caller: AgentClient, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A test cannot pass a limit to the page, and pictures of forty million pixels take seconds to
    # decode.
    monkeypatch.setattr("inbox.rendering.files.MAX_INLINE_PIXELS", 40 * 30 * 2)
    blocks = [inline(drawn(mode=mode)) for mode in ("RGB", "L", "RGBA")]

    delivery_id = caller.deliver(details=page(*blocks))

    assert len(pictures_of(Person(bob), delivery_id)) == 2
    assert "cannot be shown" in seen(Person(bob), delivery_id)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "alt": "No bytes"},
        {"type": "image", "data": "QUJD"},
        {"type": "image", "data": "QUJD", "alt": "  "},
        {"type": "image", "data": 7, "alt": "A number"},
        {"type": "image", "blob": 7, "data": "QUJD", "alt": "A number"},
        {"type": "image", "url": "https://elsewhere.example/a.png", "alt": "Hot-linked"},
        {"type": "file", "name": "report.pdf"},
        {"type": "file", "blob": "8c5c8f6e-0f5e-4f0a-9a36-111111111111"},
    ],
)
def test_a_malformed_block_is_shown_without_its_bytes(
    block: dict[str, Any], caller: AgentClient, bob: User
) -> None:
    person = Person(bob)

    answer = person.get(f"/deliveries/{caller.deliver(details=page(block))}/")

    assert "This block could not be displayed as intended" in text_of(answer)
    assert "QUJD" not in text_of(answer)
    assert "<img" not in answer.content.decode().partition('class="untrusted"')[2]


def test_base64_may_be_wrapped_or_a_data_url(caller: AgentClient, bob: User) -> None:
    wrapped, url = inline(drawn(size=(90, 90))), inline(drawn())
    wrapped["data"] = "\n".join(re.findall(".{1,76}", wrapped["data"]))
    url["data"] = f"data:image/png;base64,{url['data']}"

    found = pictures_of(Person(bob), caller.deliver(details=page(wrapped, url)))

    assert [Person(bob).get(source).status_code for _, source, *_ in found] == [200, 200]


def test_an_animation_says_that_it_is_one(caller: AgentClient, bob: User) -> None:
    blob = uploaded(caller, animated(), "image/gif")
    delivery_id = caller.deliver(details=page(image(blob["blob_id"]), inline(animated())))

    assert seen(Person(bob), delivery_id).count("Only the first frame of this animation") == 2


def test_a_blob_that_is_no_picture_is_not_shown_as_one(caller: AgentClient, bob: User) -> None:
    blob = uploaded(caller, drawn(), "application/octet-stream")
    delivery_id = caller.deliver(details=page(image(blob["blob_id"])))

    assert "it was not uploaded as a picture" in seen(Person(bob), delivery_id)
    url = f"/deliveries/{delivery_id}/images/{blob['sha256']}"
    assert Person(bob).get(url).status_code == 404


def test_a_file_has_a_row_and_is_a_download(caller: AgentClient, bob: User) -> None:
    blob = uploaded(caller, drawing.HTML * 50, "text/html")
    block = file(blob["blob_id"].upper(), "../../etc/résumé\r\n.html")
    person, delivery_id = Person(bob), caller.deliver(details=page(block))

    row = text_of(person.get(f"/deliveries/{delivery_id}/"))
    answer = person.get(f"/deliveries/{delivery_id}/files/{blob['blob_id']}")

    assert "text/html, 2 kB" in row
    assert f"SHA-256 {blob['sha256']}" in row
    assert hashlib.sha256(answer.content).hexdigest() == blob["sha256"]
    assert answer["Content-Disposition"].startswith("attachment; filename")
    assert "\n" not in answer["Content-Disposition"]
    assert "etc" not in answer["Content-Disposition"]
    assert "html" in answer["Content-Disposition"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "no-store" in answer["Cache-Control"]


def test_the_raw_view_shows_what_was_sent(caller: AgentClient, bob: User) -> None:
    block = inline(drawn())
    delivery_id = caller.deliver(details=page(block))

    assert block["data"] in text_of(Person(bob).get(f"/deliveries/{delivery_id}/", details="raw"))


def test_the_bytes_of_a_picture_do_not_count_as_text(caller: AgentClient, bob: User) -> None:
    noise = drawing.noise(190, 260)  # 200 kB of base64
    delivery_id = caller.deliver(details=page(inline(noise), {"type": "text", "text": "short"}))

    html = seen(Person(bob), delivery_id)

    assert len(Delivery.objects.get().details_json or "") > 190_000
    assert len(IMG.findall(html)) == 1
    assert "too long to show" not in html
    assert "untrusted__body--long" not in html


def test_a_page_takes_one_query_more_for_its_files(caller: AgentClient, bob: User) -> None:
    plain = caller.deliver(details=page({"type": "text", "text": "x"}))
    own = caller.deliver(details=page(inline(drawn())))
    ids = [uploaded(caller, bytes([n]), "text/plain")["blob_id"] for n in range(3)]
    with_files = caller.deliver(details=page(*map(file, ids)))
    person = Person(bob)
    for pk in (plain, own, with_files):
        seen(person, pk)

    counts = []
    for pk in (plain, own, with_files):
        with CaptureQueriesContext(connection) as queries:
            seen(person, pk)
        counts.append(len(queries))
        assert not any('"wake_uploadedblob"."content"' in each["sql"] for each in queries)

    assert [count - counts[0] for count in counts] == [0, 0, 1]


def test_a_batch_loads_all_pictures_at_once(caller: AgentClient, bob: User) -> None:
    person = Person(bob)

    def queries_for(count: int) -> int:
        ids = []
        for number in range(count):
            blob = uploaded(caller, drawn(size=(40 + count, 30 + number)), "image/png")
            ids.append(caller.deliver(details=page(image(blob["blob_id"]))))
        person.get("/batch/", id=ids)
        with CaptureQueriesContext(connection) as queries:
            answer = person.get("/batch/", id=ids)
        assert answer.content.decode().count('class="picture"') == count
        return len(queries)

    assert queries_for(2) == queries_for(5)


def test_a_picture_that_was_shown_before_is_not_decoded_again(
    caller: AgentClient, bob: User
) -> None:
    delivery_id = caller.deliver(details=page(inline(drawn())))
    ((_, source, *_),) = pictures_of(Person(bob), delivery_id)

    with wrapped.counted(pictures, "rewritten") as decoded:
        assert Person(bob).get(source).status_code == 200
    assert not decoded


def test_bytes_of_pictures_are_no_words_for_search(caller: AgentClient, bob: User) -> None:
    block = {"type": "image", "data": "c2FmZnJvbg", "alt": "Cardamom"}
    caller.deliver(details=page(block, {"type": "text", "text": "nutmeg"}))

    words = searchable(Delivery.objects.get(), feedback="").words

    assert "cardamom" in words
    assert "nutmeg" in words
    assert "c2fmznjvbg" not in words


def test_damaged_pictures_count_as_decoded(caller: AgentClient, bob: User) -> None:
    """Fifty pictures of this size fit into one delivery. Each picture has as many pixels as
    allowed, and the end of its file is missing."""
    damaged = drawing.png_of_size(4096, 4096, body=b"no data")
    person = Person(bob)
    delivery_id = caller.deliver(details=page(*[inline(damaged)] * 2, inline(drawn())))

    answer = text_of(person.get(f"/deliveries/{delivery_id}/"))

    assert answer.count("it is damaged or incomplete.") == 1
    assert answer.count("This picture cannot be shown:") == 3


def test_views_of_large_pictures_do_not_take_every_thread(caller: AgentClient, bob: User) -> None:
    """Ten simultaneous requests for large pictures used to occupy all threads for twenty
    seconds."""
    sent = drawn(size=(43, 37))
    person, delivery_id = Person(bob), caller.deliver(details=page(inline(sent)))
    paths = [f"/deliveries/{delivery_id}/"]
    paths.append(f"{paths[0]}images/{hashlib.sha256(sent).hexdigest()}")

    with occupied(pictures._shown_places):
        busy = [person.get(path) for path in paths]

    assert [(answer.status_code, answer["Retry-After"]) for answer in busy] == [(503, "2")] * 2
    assert "The server is busy right now" in text_of(busy[0])
    assert [person.get(path).status_code for path in paths] == [200, 200]
