"""Parses markdown into tokens that are ready to be rendered: CommonMark with tables, task lists,
bare links and footnotes, without HTML and images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from accounts.characters.invisible import name_invisible, reveal
from inbox.rendering.links import ABSOLUTE, REL, hidden_host
from inbox.rendering.syntax_colours import coloured

# The page's own headings are h1 and h2, and h6 is the last one.
FIRST_HEADING, LAST_HEADING = 3, 6
MOST_BARE_LINKS = 200
ALIGNED = {"text-align:right": "cell-end", "text-align:center": "cell-center"}
TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
TASK_ITEM = "task"

_BARE_LINK = re.compile(r"(?<![\w/])https?://[^\s<>\"'`\\|]{3,2000}", re.IGNORECASE | re.ASCII)
_FOOTNOTE = re.compile(r"\[\^([^\]\s\[]{1,40})\]")


def _coloured(code: str, language: str, _rest_of_line: str) -> str:
    return coloured(code, language)


def _footnote_text(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Reads `[^1]: text` as a paragraph. As the definition of a link it would not be shown."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    match = _FOOTNOTE.match(line)
    if match is None or not line.startswith(":", match.end()) or state.is_code_block(start):
        return False
    if silent:
        return True
    content = f"{match[0]} {line[match.end() + 1 :].strip()}"
    state.tokens += [
        Token("paragraph_open", "p", 1, block=True),
        Token("inline", "", 0, content=content, children=[], block=True),
        Token("paragraph_close", "p", -1, block=True),
    ]
    state.line = start + 1
    return True


def _footnote_mark(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Reads `[^1]` as a raised 1."""
    match = _FOOTNOTE.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        if state.pending:
            state.pushPending()
        raised = Token("text", "", 0, content=match[1])
        state.tokens += [Token("sup_open", "sup", 1), raised, Token("sup_close", "sup", -1)]
        state.tokens_meta += [None, None, None]
    state.pos = match.end()
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "highlight": _coloured})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.block.ruler.before("reference", "footnote_text", _footnote_text, {"alt": ["paragraph"]})
    parser.inline.ruler.before("link", "footnote_mark", _footnote_mark)
    return parser


parser = _parser()


def parsed(text: str) -> list[Token]:
    """Returns the tokens, with invisible characters named. Look-alikes are marked later, because a
    mark would change the address of a link."""
    return parser.parse(name_invisible(text))


def finished(tokens: list[Token]) -> list[Token]:
    """Returns the tokens as the page shows them: headings below its own, aligned cells, task lists,
    and links that say where they lead."""
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    lower_by = FIRST_HEADING - min(levels, default=FIRST_HEADING)
    bare_links_left = MOST_BARE_LINKS
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = f"h{min(int(token.tag[1]) + lower_by, LAST_HEADING)}"
        if token.type in {"th_open", "td_open"}:
            alignment = ALIGNED.get(str(token.attrs.pop("style", "")))
            token.attrs |= {"class": alignment} if alignment else {}
        if token.type in {"fence", "code_block"}:
            token.content = reveal(token.content, is_code=True)
        if token.children:
            with_links = list(_with_bare_links(token.children, bare_links_left))
            bare_links_left -= sum(child.info == "bare" for child in with_links)
            token.children = _with_checked_links(with_links)
    _mark_tasks(tokens)
    return tokens


def _mark_tasks(tokens: Sequence[Token]) -> None:
    """Shows `[x]` at the start of a list item as a ticked box."""
    for item, _, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or inline.type != "inline" or not inline.children:
            continue
        first = inline.children[0]
        if first.type == "text" and first.content[:4] in TASKS:
            first.content = TASKS[first.content[:4]] + first.content[4:]
            item.attrs["class"] = TASK_ITEM


def _with_bare_links(children: list[Token], most: int) -> Iterator[Token]:
    """Turns up to `most` addresses in text into links, but not inside a link."""
    is_in_link = False
    for child in children:
        is_in_link = child.type == "link_open" or (is_in_link and child.type != "link_close")
        if child.type != "text" or is_in_link:
            yield child
            continue
        done = 0
        for match in _BARE_LINK.finditer(child.content):
            if most <= 0:
                break
            url = _without_punctuation(match[0])
            yield Token("text", "", 0, content=child.content[done : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": url}, info="bare")
            yield Token("text", "", 0, content=url)
            yield Token("link_close", "a", -1)
            done = match.start() + len(url)
            most -= 1
        yield Token("text", "", 0, content=child.content[done:])


def _without_punctuation(url: str) -> str:
    """Returns the address without the marks that end the sentence around it."""
    url = url.rstrip(".,:;!?*_~")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(".,:;!?*_~")
    return url


def _with_checked_links(children: list[Token]) -> list[Token]:
    """Names invisible characters that entities such as `&#x202E;` brought back, drops links that
    are not absolute, and adds the host to a link whose text does not show it."""
    result: list[Token] = []
    link: Token | None = None
    words = ""
    for child in children:
        if child.type == "link_open":
            # The parser reads no images, so `![alt](url)` is a "!" and a link.
            if result and result[-1].content.endswith("!") and child.info not in {"bare", "auto"}:
                result[-1].content = f"{result[-1].content[:-1]}Image: "
            href = str(child.attrGet("href"))
            link, words = (child, "") if ABSOLUTE.match(href) else (None, "")
            if link is None:
                continue
            link.attrs = {"href": href, "rel": REL}
        elif child.type == "link_close" and link is None:
            continue
        if link is None:
            child.content = reveal(child.content, is_code=child.type == "code_inline")
        else:  # the address beside a link says where it leads
            child.content = name_invisible(child.content, is_code=child.type == "code_inline")
        words += child.content
        result.append(child)
        if child.type == "link_close" and link is not None:
            result.extend(_host(hidden_host(str(link.attrs["href"]), words)))
            link = None
    return result


def _host(host: str) -> list[Token]:
    if not host:
        return []
    return [
        Token("small_open", "small", 1),
        Token("text", "", 0, content=f" ({host})"),
        Token("small_close", "small", -1),
    ]
