"""Generates Markdown from a grammar, and says which words of it a page must show."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

from hypothesis import strategies as st

WORDS = st.text("abdegkmnorstuvz", min_size=3, max_size=7) | st.sampled_from(
    ["Straße", "пароль", "日本語", "90000", "x2"]
)
SOME_WORDS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
HOSTS = st.sampled_from(["bank.example", "evil.example", "b\u0430nk.example", "a@evil.example:8"])
PATHS = st.builds("/{}?{}={}#{}".format, WORDS, WORDS, WORDS, WORDS) | st.just("")
ADDRESSES = (
    st.builds("https://{}{}".format, HOSTS, PATHS)
    | st.builds("mailto:{}@bank.example?subject={}".format, WORDS, WORDS)
    | st.builds("/{}/{}".format, WORDS, WORDS)
    | st.builds("javascript:{}".format, WORDS)
    | st.builds("<ftp://bank.example/{} {}>".format, WORDS, WORDS)
)
TITLES = st.just("") | st.one_of(
    st.builds(' "{}"'.format, SOME_WORDS),
    st.builds(" '{}'".format, SOME_WORDS),
    st.builds(" ({})".format, SOME_WORDS),
)
ENTITIES = st.sampled_from(["&nbsp;", "&zwj;", "&eacute;", "&#x202E;", "&#114;", "&amp;", "&nota;"])

PIECES = st.one_of(
    WORDS,
    st.builds("*{}*".format, SOME_WORDS),
    st.builds("**{}** __{}__".format, SOME_WORDS, WORDS),
    st.builds("~~{}~~".format, SOME_WORDS),
    st.builds("`{}`".format, SOME_WORDS),
    st.builds("`` {} ` {} ``".format, WORDS, WORDS),
    st.builds("[{}]({}{})".format, SOME_WORDS, ADDRESSES, TITLES),
    st.builds("![{}]({}{})".format, SOME_WORDS, ADDRESSES, TITLES),
    st.builds("[![{}]({})]({}{})".format, WORDS, ADDRESSES, ADDRESSES, TITLES),
    st.builds("[{}][{}]".format, SOME_WORDS, WORDS),
    st.builds("[{}][]".format, WORDS),
    st.builds("[^{}]".format, WORDS),
    st.builds("<https://{}{}>".format, HOSTS, PATHS),
    st.builds("https://{}{}".format, HOSTS, PATHS),
    st.builds("<{}@bank.example>".format, st.just("someone")),
    st.builds("{} {}".format, WORDS, ENTITIES),
    st.builds("\\*{} \\\\ \\[{}\\]".format, WORDS, WORDS),
    st.builds('<b title="{}">{}</b>'.format, WORDS, WORDS),
    st.builds("<!-- {} -->".format, SOME_WORDS),
    st.builds("{}\\\n{}".format, WORDS, WORDS),
    st.builds("{}  \n{}".format, WORDS, WORDS),
    st.builds("{}\u200b{}\x0b{}".format, WORDS, WORDS, WORDS),
)
# Characters that a shell reads, and that Markdown would take for marks.
SHELL_TEXTS = [
    "/srv/__{}__/{}",
    "__{}__.py",
    "rm -rf ~/{}/*{}*/{}",
    "{}*{}*{}",
    "{}**{}**",
    "'{}*{}*{}'",
    "'*{}*'",
    "*.{} /{}/*",
    "{}~~{}~~{}",
    "\\${} {}\\_{} \\*",
    "{}_{}_{}",
]


@st.composite
def shell_texts(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(SHELL_TEXTS)).format(draw(WORDS), draw(WORDS), draw(WORDS))


PIECES |= shell_texts()
LINES = st.lists(PIECES, min_size=1, max_size=4).map(" ".join)
ONE_LINE = LINES.map(lambda line: " ".join(line.split()))


def _table(head: list[str], rows: list[list[str]], marks: str) -> str:
    lines = [head, [marks] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _indented(text: str, first: str) -> str:
    return first + text.replace("\n", "\n" + " " * len(first))


def _quoted(text: str, depth: int) -> str:
    return "\n".join("> " * depth + line for line in text.split("\n"))


CELLS = st.lists(ONE_LINE, min_size=1, max_size=4)
FENCES = st.sampled_from(["```", "~~~", "````"])
MARKERS = st.sampled_from(
    ["- ", "* ", "+ ", "- [ ] ", "- [x] ", "1. ", "7. ", "007. ", "900) ", "1. - ", "-   "]
)
LEAVES = st.one_of(
    LINES,
    st.builds("{} {} ##".format, st.sampled_from(["#", "##", "######"]), ONE_LINE),
    st.builds("{}\n{}".format, LINES, st.sampled_from(["===", "---"])),
    st.builds("{0}{1}\n{2}\n{0}".format, FENCES, SOME_WORDS, SOME_WORDS),
    st.builds('``` python title="{}" {{{}}}\n{}\n```'.format, WORDS, WORDS, SOME_WORDS),
    st.builds("~~~{}\n{}".format, WORDS, SOME_WORDS),
    st.builds("    {}\n\t{}".format, SOME_WORDS, SOME_WORDS),
    st.builds("| {} |\n|---|\n| {}\\|{} |".format, WORDS, WORDS, WORDS),
    st.builds("{} \\\n  {}".format, WORDS, shell_texts()),
    st.builds(_table, CELLS, st.lists(CELLS, max_size=3), st.sampled_from(["---", ":-:", "-:"])),
    st.builds("[{}]: {}{}".format, WORDS, ADDRESSES, TITLES),
    st.builds("[{}]: {}\n  '{}\n{}'".format, WORDS, ADDRESSES, WORDS, WORDS),
    st.builds("[{0}]: {1}\n[{0}]: {2}".format, WORDS, ADDRESSES, ADDRESSES),
    st.builds("[^{}]: {}".format, WORDS, LINES),
    st.builds("<div data-{}>\n{}\n</div>".format, WORDS, SOME_WORDS),
    st.builds("<!--\n{}\n\n{}\n-->".format, SOME_WORDS, SOME_WORDS),
    st.builds("<?{} {}?>".format, WORDS, WORDS),
    st.just("---"),
    st.just("-\n-"),
)
BLOCKS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(_indented, inner, MARKERS),
        st.builds(_quoted, inner, st.sampled_from([1, 1, 2, 25])),
        st.builds("{}\n\n{}".format, inner, inner),
        st.builds("{}\n{}".format, inner, inner),
    ),
    max_leaves=8,
)
MARKDOWN = st.lists(BLOCKS, min_size=1, max_size=4).map("\n\n".join)

_MARKERS = re.compile(r"^(?:[>\s]|[-+*](?=\s|$)|\d{1,9}[.)](?=\s|$))+", re.MULTILINE)
_TICK = re.compile(r"\[[xX]\](?=\s)")
_WORD = re.compile(r"[^\W_]+")


def words_of(source: str) -> Counter[str]:
    """Returns the words that a page must show as often as the Markdown has them. Leaves out the
    numbers of list items, because a browser draws them, and the x of a ticked box."""
    for ignored in (_TICK, _MARKERS):
        source = ignored.sub(" ", source)
    return Counter(_WORD.findall(source))


# A page draws brackets, quotes, backticks and pipes, and marks of emphasis around a run.
_BETWEEN_RUNS = re.compile(r"[\s`|\[\]()<>!\"']+")
_AROUND = re.compile(r"^(?:[*_]|~~)+|(?:[*_]|~~)+[.,:;?]*$")
_NAMED = re.compile("⟨[^⟨⟩]*⟩")
_MARK_OF_EMPHASIS = re.compile(r'<span class="emphasis-mark">[*_~]+</span>')


def lost_runs(source: str, visible: str) -> set[str]:
    """Returns the runs of characters with a letter or a digit that a page does not show whole."""
    for ignored in (_TICK, _MARKERS, _NAMED, re.compile(r"\[\^|\]:")):
        source = ignored.sub(" " if ignored is not _NAMED else "", source)
    visible = _NAMED.sub("", visible)
    runs = (_AROUND.sub("", run) for run in _BETWEEN_RUNS.split(source))
    return {run for run in runs if _WORD.search(run) and run not in visible}


def without_marks(html: str) -> str:
    """Returns HTML without the marks of emphasis, which stand beside the formatted words."""
    return _MARK_OF_EMPHASIS.sub("", html)


def words_in(visible_text: str) -> Counter[str]:
    return Counter(_WORD.findall(visible_text))


def visible_text(html: str) -> str:
    """Returns the text of HTML as a reader without style sheets sees it; no attributes."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.texts)


class _Reader(HTMLParser):
    INSIDE_WORDS = frozenset({"a", "b", "bdi", "code", "em", "s", "small", "span", "strong", "sup"})

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [] if tag in self.INSIDE_WORDS else ["\n"]

    def handle_endtag(self, tag: str) -> None:
        self.texts += [] if tag in self.INSIDE_WORDS else ["\n"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
