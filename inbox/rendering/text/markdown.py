"""Parses markdown into tokens that are ready to be rendered: CommonMark with tables, task lists,
bare links and footnotes, without HTML, images and references.

Every run of characters with a letter or a digit is shown whole, because an agent or its tools may
act upon the run. This includes the address and the title of a link, the words behind a fence, and
surplus cells of a table. `[name]: address`, backslashes and entities stay as they were written.

Only the marks that the page draws are not shown: bullets, `#` of headings, fences and backticks of
code, pipes of tables, and brackets of links. `*`, `_` or `~~` of emphasis stay, in a faint colour.
Inside a word or a path these marks are not emphasis: `/tmp/__cache__/x` is a different path from
`/tmp/cache/x`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_block.table import getLine
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.token import Token

from inbox.rendering.text.links import ABSOLUTE, REL, hidden_address
from inbox.rendering.text.markdown_html import set_directions, set_rules
from inbox.rendering.text.syntax_colours import coloured
from pages.characters.invisible import name_invisible, reveal, reveal_value

# The page's own headings are h1 and h2, and h6 is the last one.
FIRST_HEADING, LAST_HEADING = 3, 6
MAX_BARE_LINKS = 200
ALIGNED = {"text-align:right": "cell-end", "text-align:center": "cell-center"}
TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
TASK_ITEM = "task"
TWICE = "twice"  # an address that is also the words of its link is shown once

_BARE_LINK = re.compile(r"(?<![\w/])https?://[^\s<>\"'`\\|]{3,2000}", re.IGNORECASE | re.ASCII)
_FOOTNOTE = re.compile(r"\[\^([^\]\s\[]{1,40})\]")
_BLANKS_AROUND = re.compile(r" {1,3}\S[^\n]*\n?|[^\n]*[ \t]\n?")  # four blanks begin a code block
_HUNK = re.compile(r"^@@ -[0-9]", re.MULTILINE)
# The x of a task is shown as a ticked box.
_SHOWN_OTHERWISE = re.compile(r"\[[xX]\]")
_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")

_ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
_END_OF_CELL = re.compile(r"(?<!\\)\|")
# Outside of emphasis: blanks, dashes, curly quotes, and the punctuation of Chinese and Japanese.
# Straight quotes do not count, because a shell reads the stars between them.
_WIDE = "，。：；！？、（）【】《》「」『』"  # noqa: RUF001
_APART = rf"\s–—“”‘’«»{_WIDE}"  # noqa: RUF001
_BEFORE_EMPHASIS = re.compile(rf"[{_APART}]\(*[*_~]*\Z")
_AFTER_EMPHASIS = re.compile(rf"[*_~]{{0,8}}(?:[.,:;!?…)]{{0,8}}(?:\s|\Z)|[{_APART}])")
_MAX_BEFORE = 12
_NAMED = re.compile(r"⟨[^⟨⟩\n]*⟩")
_FOOTNOTE_MARKS = re.compile(r"\[\^([^\]\s\[]{1,40})\]:?")
_BETWEEN_RUNS = re.compile(rf"[{_APART}`|\[\]()<>!\"']+")
_MARK_AROUND = re.compile(r"(?:[*_]|~~)+")
_AFTER_RUN = "*_~.,:;?…"


def _coloured(code: str, language: str, _rest_of_line: str) -> str:
    return coloured(code, language)


def _footnote_text(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Reads `[^1]: text` as a paragraph that begins with a raised 1."""
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


def _escape_as_written(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Reads `\\*` as text, and keeps the backslash, which a shell reads."""
    match = _ESCAPED.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.append_pending(match[0])
    state.pos = match.end()
    return True


def _around_words(
    rule: Callable[[StateInline, bool], bool],
) -> Callable[[StateInline, bool], bool]:
    """Returns a rule of emphasis that does not read marks inside a word, a path or a pattern."""

    def read(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
        start, first = state.pos, len(state.delimiters)
        if not rule(state, silent):
            return False
        text, end = state.src, state.pos
        before = text[max(0, start - _MAX_BEFORE) : start]
        before = before if start > _MAX_BEFORE else f"\n{before}"
        before = before.replace("[", "\n") if state.linkLevel else before
        may_open = bool(_BEFORE_EMPHASIS.search(before)) and text[end : end + 1] not in {".", "/"}
        may_close = bool(_AFTER_EMPHASIS.match(text, end, state.posMax)) and before[-1] != "/"
        for delimiter in state.delimiters[first:]:
            delimiter.open &= may_open
            delimiter.close &= may_close
        return True

    return read


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Reads a table, including surplus cells of a row."""
    first = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    tokens, state.tokens[first:] = state.tokens[first:], []
    cells: list[str] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            cells = _cells(state, token)
        elif token.type == "inline" and cells:
            token.content = cells.pop(0)
        elif token.type == "tr_close" and tokens[place - 1].type == "td_close":
            for cell in cells:
                opens, inline, closes = (one.copy() for one in tokens[place - 3 : place])
                state.tokens += [opens, inline.copy(content=cell, children=[]), closes]
        state.tokens.append(token)
    return True


def _cells(state: StateBlock, row: Token) -> list[str]:
    """Returns the cells of a row. `\\|` does not end a cell, and keeps its backslash."""
    line = row.map[0] if row.map else 0
    cells = _END_OF_CELL.split(mdTrim(getLine(state, line)))
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return [mdTrim(cell) for cell in cells]


class _Parser(MarkdownIt):
    """Keeps addresses as they were written, so that pages can show them. `finished` encodes the
    addresses."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - of markdown-it
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return super().validateLink(self.encoded(url))

    def encoded(self, url: str) -> str:
        return super().normalizeLink(url)


def _parser() -> _Parser:
    parser = _Parser("commonmark", {"html": False, "breaks": True, "highlight": _coloured})
    parser.enable(["table", "strikethrough"]).disable(["image", "reference", "entity"])
    parser.block.ruler.at("table", _whole_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before("reference", "footnote_text", _footnote_text, {"alt": ["paragraph"]})
    parser.inline.ruler.before("link", "footnote_mark", _footnote_mark)
    parser.inline.ruler.at("escape", _escape_as_written)
    parser.inline.ruler.at("emphasis", _around_words(emphasis.tokenize))
    parser.inline.ruler.at("strikethrough", _around_words(strikethrough.tokenize))
    set_rules(parser)
    return parser


parser = _parser()


def parsed(text: str) -> list[Token]:
    """Returns the tokens, with invisible characters named. Look-alikes are marked later, because a
    mark would change the address of a link."""
    return parser.parse(name_invisible(text))


def shows_everything(text: str, tokens: list[Token]) -> bool:
    """Returns whether the finished tokens have every letter and digit of the text in its order, and
    every run of characters whole, apart from drawn marks around it. Returns False if the text is
    nested too deeply for the parser, which then skips the rest. Also returns False for a patch
    outside of code, because its signs would become lists. Also returns False for blanks around a
    text of one line, because the parser drops such blanks."""
    if _BLANKS_AROUND.fullmatch(text):
        return False
    if any(token.type == "inline" and _HUNK.search(token.content) for token in tokens):
        return False
    shown = "".join(_texts(tokens))
    source = _SHOWN_OTHERWISE.sub(" ", name_invisible(text))
    letters = iter(_NEITHER_LETTER_NOR_DIGIT.sub("", shown))
    if not all(letter in letters for letter in _NEITHER_LETTER_NOR_DIGIT.sub("", source)):
        return False
    shown, place = _NAMED.sub("", shown), 0
    for run in _runs(source):
        place = shown.find(run, place)
        if place < 0:
            return False
        place += len(run)
    return True


def _runs(source: str) -> Iterator[str]:
    """Yields the runs with a letter or a digit, without the marks that the page draws."""
    for run in _BETWEEN_RUNS.split(_FOOTNOTE_MARKS.sub(r" \1 ", _NAMED.sub("", source))):
        if _NEITHER_LETTER_NOR_DIGIT.sub("", run):
            yield _without_marks_around(run)


def _without_marks_around(run: str) -> str:
    """Returns the run without the emphasis around it, and without the punctuation after the
    emphasis."""
    mark = _MARK_AROUND.match(run)
    run = run[mark.end() :] if mark else run
    after = run[len(run.rstrip(_AFTER_RUN)) :]
    mark = _MARK_AROUND.search(after)
    return run[: len(run) - len(after) + mark.start()] if mark else run


def _texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "list_item_open" and token.info:
            yield f"{int(token.info)}{token.markup} "
        elif token.children is None:
            yield f"{token.content}\n"
        else:
            yield from (_text_of(child) for child in token.children)
            yield "\n"


def _text_of(child: Token) -> str:
    if child.type in {"softbreak", "hardbreak"}:
        return "\n"
    return str(child.meta.get(TWICE, child.content))


def finished(tokens: list[Token]) -> list[Token]:
    """Returns the tokens in the form of the page: headings below the page's own, aligned cells,
    task lists, numbered items, the words behind a fence, and links that show their real address."""
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    lower_by = FIRST_HEADING - min(levels, default=FIRST_HEADING)
    bare_links_left = MAX_BARE_LINKS
    for token in tokens:
        if token.type.startswith("heading_"):
            token.tag = f"h{min(int(token.tag[1]) + lower_by, LAST_HEADING)}"
        if token.type in {"th_open", "td_open"}:
            alignment = ALIGNED.get(str(token.attrs.pop("style", "")))
            token.attrs |= {"class": alignment} if alignment else {}
        if token.type in {"fence", "code_block"}:
            token.content = reveal_value(token.content, is_code=True)
        if token.children:
            with_links = list(_with_bare_links(token.children, bare_links_left))
            bare_links_left -= sum(child.info == "bare" for child in with_links)
            token.children = _with_checked_links(with_links)
    _mark_tasks(tokens)
    _number(tokens)
    tokens = list(_with_words_of_fences(tokens))
    set_directions(tokens)
    return tokens


def _with_words_of_fences(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        words = token.info.strip() if token.type == "fence" else ""
        if words:
            yield Token("paragraph_open", "p", 1, block=True)
            yield Token("inline", "", 0, children=_small(words))
            yield Token("paragraph_close", "p", -1, block=True)
        yield token


def _number(tokens: list[Token]) -> None:
    """Gives a list item its written number, if the page would show another number."""
    expected: list[int] = []
    for token in tokens:
        if token.type in {"ordered_list_open", "bullet_list_open"}:
            expected.append(int(token.attrGet("start") or 1) if token.tag == "ol" else 0)
        elif token.type in {"ordered_list_close", "bullet_list_close"}:
            expected.pop()
        elif token.type == "list_item_open" and token.info:
            number = int(token.info)
            token.attrs |= {"value": number} if number != expected[-1] else {}
            expected[-1] = number + 1


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
    """Returns the address without the punctuation that ends the surrounding sentence."""
    url = url.rstrip(".,:;!?*_~")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1].rstrip(".,:;!?*_~")
    return url


def _with_checked_links(children: list[Token]) -> list[Token]:
    """Names invisible characters, turns links that are not absolute into text, and shows the
    address and the title of each link beside the link."""
    result: list[Token] = []
    address, title, words = "", "", ""
    is_in_link = is_absolute = False
    for child in children:
        if child.type == "link_open":
            # The parser does not read images, so `![alt](url)` is a "!" and a link.
            if result and result[-1].content.endswith("!") and child.info not in {"bare", "auto"}:
                result[-1].content = f"{result[-1].content[:-1]}Image: "
            address, title = str(child.attrGet("href")), str(child.attrGet("title") or "")
            href, words, is_in_link = parser.encoded(address), "", True
            address = address.removeprefix("mailto:") if child.info == "auto" else address
            is_absolute = bool(ABSOLUTE.match(href))
            child.attrs = {"href": href, "rel": REL}
        elif child.type == "link_close":
            is_in_link = False
            result += [child] if is_absolute else []
            aside = hidden_address(address, words) + ([f"“{title}”"] if title else [])
            if address == words.strip():
                result.append(Token("text", "", 0, meta={TWICE: address}))
            result += _small(f" ({name_invisible(', '.join(aside))})") if aside else []
            continue
        elif is_in_link:  # the address beside a link says where it leads
            child.content = name_invisible(child.content, is_code=child.type == "code_inline")
            words += child.content
        else:
            is_code = child.type == "code_inline"
            child.content = (reveal_value if is_code else reveal)(child.content, is_code=is_code)
        result += [child] if is_absolute or child.type != "link_open" else []
    return result


def _small(words: str) -> list[Token]:
    return [
        Token("small_open", "small", 1),
        Token("text", "", 0, content=words),
        Token("small_close", "small", -1),
    ]
