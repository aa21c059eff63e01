"""Whether changed lines say nothing to a compiler: comments, docstrings, blank lines, a reflow. Pure.

Only the hunk is seen, so a hunk may begin within a docstring: both readings are tried, and the second only where what
stands there reads as prose.
"""

import re
from collections.abc import Iterable, Iterator

from auditor.core.forks.patch import Hunk

MOST_TEXT = 400_000
"""Characters of a hunk that are read; a longer one is taken as code."""
_HASH = re.compile(
    r"\.(?:pyi?|pyx|sh|bash|ya?ml|toml|cmake|cfg|ini|rb|pl|nix|bzl|mk|txt|conf|env|in)$"
    r"|(?:^|/)(?:Dockerfile|Makefile|CMakeLists)[^/]{0,40}$|(?:^|/)\.(?:git|docker)ignore$"
)
_SLASH = re.compile(
    r"\.(?:cu|cuh|cc?|cpp|cxx|hh?|hpp|inl|inc|hip|metal|rs|go|m?jsx?|tsx?|java|proto|cl|comp|glsl|mm?|slang|wgsl)$"
)
_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_PYTHON_TOKEN = re.compile(
    rf"(?P<text>[rbfuRBFU]{{0,2}}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''))"
    rf"|(?P<string>[rbfuRBFU]{{0,2}}(?:{_STRING}))|(?P<comment>#[^\n]*)|(?P<code>\w+|[^\w\s])|(?P<line>\n)",
    re.DOTALL,
)
_HASH_TOKEN = re.compile(rf"(?P<string>{_STRING})|(?P<comment>(?<![^\s;])#[^\n]*)|(?P<code>\w+|[^\w\s])")
_SLASH_TOKEN = re.compile(
    rf"(?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))|(?P<string>{_STRING})|(?P<code>\w+|[^\w\s])", re.DOTALL
)
_OPENERS = frozenset("(,=[{+")
_CODE = re.compile(
    r"^\s*(?:def |class |return\b|if .*:$|for .*:$|while |import |from \w+(?:\.\w+)* import|with .*:$|raise |assert "
    r"|else:|elif |try:|except|@\w|async |await |yield |del |global |lambda )"
    r"|^\s*[\w.\[\],:| ]{1,80} ?[-+*/|&]?= ?\S|^\s*[\w.]+\([^)]*\)?,?$|^\s*[)\]}]+[,:]?$"
)
_PROSE = re.compile(r"\s*(?!#)[-*>:`\"'(\[\w./]+(?: [\w`'\"().,:;/*<>+=\[\]{}&%$!?-]+){2,}\s*$")
_QUOTES = re.compile(r"\"\"\"|'''")


def is_comment_only(hunk: Hunk) -> bool:
    """Whether the tokens before and after are the same, comments and docstrings left out."""
    if hunk.more_added or hunk.more_removed or sum(map(len, hunk.lines)) > MOST_TEXT:
        return False
    sides = [[line[1:] for line in hunk.lines if line[:1] in (" ", sign)] for sign in ("-", "+")]
    if re.search(r"\.pyi?$", hunk.path):
        if all(map(_begins_in_docstring, sides)):
            sides = [_after_docstring(side) for side in sides]
        return _same(_python(side) for side in sides)
    if _SLASH.search(hunk.path):
        return _same(_plain(_SLASH_TOKEN, _stars(side)) for side in sides)
    if _HASH.search(hunk.path):
        return _same(_plain(_HASH_TOKEN, side) for side in sides)
    return False


def _same(sides: Iterable[list[str]]) -> bool:
    first, second = sides
    return first == second


def _plain(pattern: re.Pattern[str], lines: list[str]) -> list[str]:
    return list(_without_last_commas(m[0] for m in pattern.finditer("\n".join(lines)) if m.lastgroup != "comment"))


def _python(lines: list[str]) -> list[str]:
    """The tokens without comments, docstrings and what only breaks lines; quotes of both kinds are the same."""
    text = "\n".join(lines)
    found: list[str] = []
    is_start = True
    for match in _PYTHON_TOKEN.finditer(text):
        kind, words = match.lastgroup, match[0]
        if kind == "line":
            is_start = True
        elif kind == "text" and is_start and (not found or found[-1] not in _OPENERS):
            is_start = False
        elif kind != "comment" and words != "\\":
            is_start = False
            found.append(words.replace("'", '"') if kind in ("text", "string") else words)
    return list(_without_last_commas(found))


def _without_last_commas(tokens: Iterable[str]) -> Iterator[str]:
    held = ""
    for token in tokens:
        if held and token not in (")", "]", "}"):
            yield held
        held = token if token == "," else ""
        if not held:
            yield token
    if held:
        yield held


def _stars(lines: list[str]) -> list[str]:
    """The lines without those that can only be the middle or the end of a block comment."""
    return ["" if re.match(r"\s*\*(?:\s|/|$)", line) and not line.rstrip().endswith(";") else line for line in lines]


def _begins_in_docstring(lines: list[str]) -> bool:
    """Whether what stands ahead of the first triple quote, or all where there is none, is text rather than code."""
    head: list[str] = []
    for line in lines:
        if (match := _QUOTES.search(line)) is not None:
            last = next((one.rstrip() for one in reversed(head) if one.strip()), "")
            if _CODE.match(last) or last.endswith(":"):
                return False
            if last and line.strip() == match[0]:
                return True  # quotes alone end what began above
            head.append(line[: match.start()])
            break
        head.append(line)
    words = [line for line in head if line.strip()]
    prose = sum(_PROSE.match(line) is not None and not _CODE.match(line) for line in words)
    return bool(words) and prose * 3 >= len(words) * 2


def _after_docstring(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines):
        if (match := _QUOTES.search(line)) is not None:
            return [line[match.end() :], *lines[number + 1 :]]
    return []
