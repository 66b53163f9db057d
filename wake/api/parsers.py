"""Reads a request body as strict JSON, for any Content-Type, because `curl -d` sends the
Content-Type of a form.

A person approves what they saw, so JSON that two readers could read differently is refused:
duplicate keys, NaN and infinities, numbers out of range, `\\u0000`, lone surrogates, nesting deeper
than 64 (docs/protocol.md, Errors).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, BinaryIO, NoReturn, cast

import msgspec
from django.conf import settings
from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

DEEPEST = 64
LARGEST = 2**63 - 1


class Malformed(Exception):
    """The body is not JSON that every reader reads the same way; the message says where."""


class BodyTooLarge(Exception):
    """The body is longer than this server takes."""


class JsonObject(dict[str, Any]):
    """Holds a parsed object and the JSON text of each member, exactly as it was sent."""

    def __init__(self, members: Mapping[str, Any], texts: Mapping[str, msgspec.Raw]) -> None:
        super().__init__(members)
        self.texts = texts

    def text(self, name: str) -> str | None:
        """Returns the JSON text of a member, or None if it is absent or null."""
        return None if self.get(name) is None else bytes(self.texts[name]).decode()


class StrictJsonParser(BaseParser):
    """Parses the body for views that leave the parsing to DRF. These views accept an empty body
    (docs/protocol.md, Withdraw). DRF calls the parser for an empty chunked body, but not for an
    empty body with a length."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> JsonObject:
        """Parses the body as a JSON object. Raises Malformed or BodyTooLarge."""
        request: Request = (parser_context or {})["request"]
        return parse_object(_read(stream, request) or b"{}")


class AlwaysJson(BaseContentNegotiation):
    """Always chooses JSON, the only format."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        return next(iter(parsers))

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or ""


def declared_length(text: str | bytes) -> int:
    """Reads a Content-Length. Returns 0 if the length is absent or malformed. In that case the
    bytes of the body are counted. A number with more digits than any body could have is cut to its
    first digits."""
    return int(text[:18]) if text.isascii() and text.isdigit() else 0


def stream_of(request: HttpRequest) -> BinaryIO:
    """Returns the stream of the body. The stream also works for a chunked body. Such a body has no
    length, so under WSGI Django takes it for empty."""
    if "HTTP_TRANSFER_ENCODING" in request.META and request.META.get("wsgi.input_terminated"):
        return cast(BinaryIO, request.META["wsgi.input"])
    return cast(BinaryIO, request)


def read_object(request: HttpRequest) -> JsonObject:
    """Reads the body of a view that DRF does not parse for. As in DRF, an absent body is an empty
    object. Raises Malformed or BodyTooLarge."""
    return parse_object(read_body(request) or b"{}")


def read_body(request: HttpRequest, *, limit: int | None = None) -> bytes:
    """Reads the body of a view that DRF does not parse for. Raises BodyTooLarge."""
    return _read(stream_of(request), request, limit=limit)


def _read(stream: IO[Any], request: HttpRequest | Request, *, limit: int | None = None) -> bytes:
    limit = settings.WAKE_MAX_BODY_BYTES if limit is None else limit
    if declared_length(request.META.get("CONTENT_LENGTH") or "") > limit:
        raise BodyTooLarge(BodyTooLarge.__doc__)
    body: bytes = stream.read(limit + 1)
    if len(body) > limit:
        raise BodyTooLarge(BodyTooLarge.__doc__)
    return body


def parse_object(body: bytes) -> JsonObject:
    """Parses a JSON object. Raises Malformed."""
    value = parse_strictly(body)
    if not isinstance(value, dict):
        raise Malformed("The body must be a JSON object.")
    return JsonObject(value, msgspec.json.decode(body, type=dict[str, msgspec.Raw]))


def parse_strictly(body: bytes) -> Any:
    """Parses any JSON value. Raises Malformed."""
    try:
        value = _decoder.decode(body.decode())
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None
    except RecursionError:
        raise Malformed(_TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise Malformed(
            f"Not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    if body.count(b"{") + body.count(b"[") > DEEPEST:
        _check_depth(value)
    if b"\\u" in body:
        _check_texts(value)
    return value


_TOO_DEEP = f"The JSON is nested deeper than {DEEPEST} levels."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise Malformed(f"The key {ascii(twice)[:80]} is there twice.")
    return members


def _integer(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > LARGEST:
        raise Malformed("A whole number is beyond 64 bits; send it as a text.")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise Malformed("A number is out of range; send it as a text.")
    return number


def _constant(name: str) -> NoReturn:
    raise Malformed(f"{name} is not JSON.")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _check_depth(value: Any) -> None:
    level, depth = [value], 1
    while level := [c for node in level for c in _children(node) if isinstance(c, dict | list)]:
        depth += 1
        if depth > DEEPEST:
            raise Malformed(_TOO_DEEP)


def _check_texts(value: Any) -> None:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            if "\x00" in node:
                raise Malformed("The character U+0000 is not allowed.")
            if not _is_unicode(node):
                raise Malformed("A text has half of a surrogate pair.")
        else:
            stack.extend(_children(node))
            if isinstance(node, dict):
                stack.extend(node)


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        yield from node.values()
    elif isinstance(node, list):
        yield from node


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
