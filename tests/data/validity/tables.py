"""Makes auditor/reference/data/wordorder.json from open text: which words and signs stand beside each other.

    apt-get download installation-guide-amd64 debian-handbook fortunes fortunes-min fortunes-de fortunes-it \
        manpages-pl fortunes-ru fortunes-cs        and unpack each with dpkg -x into FOLDER
    python tables.py FOLDER > wordorder.json

Counts of words are kept, no sentence. The texts are under the GPL or CC BY-SA (Debian's installation guide and The
Debian Administrator's Handbook) or collections of quotations; the program text is that of Python's own library, of the
headers of the C library and of the HTML of the same documents.
"""

import gzip
import html
import json
import math
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from auditor.core.validity.words import LINE, SHAPES, tokens_of

HANDBOOK = {
    "ar": "ar-MA", "cs": "cs-CZ", "da": "da-DK", "de": "de-DE", "el": "el-GR", "en": "en-US", "es": "es-ES",
    "fr": "fr-FR", "id": "id-ID", "it": "it-IT", "ja": "ja-JP", "ko": "ko-KR", "nl": "nl-NL", "pl": "pl-PL",
    "pt": "pt-BR", "ro": "ro-RO", "ru": "ru-RU", "sv": "sv-SE", "tr": "tr-TR", "vi": "vi-VN", "zh": "zh-CN",
}  # fmt: skip
GUIDE = {"zh": "zh_CN"}
WORDS, SIGNS = 60, 18
"""Frequent words and signs of each table."""
PRIOR = 3.0
"""Pairs by which a table is drawn towards no order."""
UNIT = 4
"""Steps of a doubling in which the ratios are kept."""


def main(folder: Path) -> None:
    shared = folder / "usr/share"
    english = set(paragraphs("en", shared))
    tables = {}
    for language in HANDBOOK:
        texts = [
            one for one in paragraphs(language, shared) if language == "en" or not (one in english or is_english(one))
        ]
        tables[language] = table(texts + fortunes(language, shared) + manuals(language, shared))
    tables["code"] = table(list(programs(shared)))
    print(json.dumps({"unit": UNIT, "tables": tables}, ensure_ascii=False, indent=0))


def table(texts: list[str]) -> dict[str, object]:
    """The classes, their share in a thousandth, and a row of letters for each: `m` is no order, `n` a quarter of a
    doubling more often beside each other than by chance."""
    words, signs = Counter[str](), Counter[str]()
    for text in texts:
        for token, shape, _ in tokens_of(text):
            if shape == "?":
                signs[token] += 1
            elif token.isalpha():
                words[token] += 1
    classes = [LINE, *SHAPES, *(w for w, _ in words.most_common(WORDS)), *(s for s, _ in signs.most_common(SIGNS))]
    place = {name: i for i, name in enumerate(classes)}
    pairs, firsts, seconds = Counter[tuple[int, int]](), Counter[int](), Counter[int]()
    for text in texts:
        found = [place.get(token, place[shape]) for token, shape, _ in tokens_of(text)]
        for one, other in pairwise(found):
            pairs[one, other] += 1
            firsts[one] += 1
            seconds[other] += 1
    total = sum(pairs.values())
    rows = []
    for one in range(len(classes)):
        row = ""
        for other in range(len(classes)):
            chance = firsts[one] * seconds[other] / total
            ratio = math.log2((pairs[one, other] + PRIOR) / (chance + PRIOR))
            row += chr(ord("m") + max(-12, min(12, round(UNIT * ratio))))
        rows.append(row)
    most = sum(words.values())
    return {"classes": classes, "share": round(sum(words[c] for c in classes) / most, 3), "rows": rows}


def paragraphs(language: str, shared: Path) -> Iterator[str]:
    """Paragraphs of the two manuals."""
    folders = [
        shared / "doc/debian-handbook/html" / HANDBOOK[language],
        shared / "doc/installation-guide-amd64" / GUIDE.get(language, language),
    ]
    found: dict[str, None] = {}
    for file in sorted(file for folder in folders for file in folder.glob("*.html")):
        page = re.sub(r"(?s)<(pre|script|style|head)\b.*?</\1>", "", file.read_text(errors="ignore"))
        for piece in re.findall(r'(?s)<p\b[^>]*>(.*?)</p>|<div class="para">(.*?)</div>', page):
            text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", "".join(piece))).split())
            if len(text) > 60:
                found[text] = None
    return iter(found)


def is_english(text: str) -> bool:
    """Whether a paragraph was left untranslated."""
    words = re.findall(r"[a-z]+", text.lower())
    return sum(word in {"the", "of", "and", "is", "to", "that", "with"} for word in words) > 0.12 * max(1, len(words))


def fortunes(language: str, shared: Path) -> list[str]:
    """Quotations; some languages have none, and the Polish ones are letters with their heads."""
    if language == "pl":
        return []
    base = shared / "games/fortunes"
    files = base.glob("*") if language == "en" else base.glob(f"{language}/*")
    texts = [text for file in sorted(files) if file.is_file() and not file.suffix for text in _quotes(file)]
    if language == "en":
        texts = [text for text in texts if text.isascii()]
    return texts[:: max(1, len(texts) // 9000)]


def _quotes(file: Path) -> list[str]:
    return [text.strip() for text in file.read_text(errors="ignore").split("\n%\n")]


def manuals(language: str, shared: Path) -> list[str]:
    """Manual pages, where the other texts are few."""
    if language != "pl":
        return []
    pages = [gzip.decompress(file.read_bytes()).decode() for file in sorted((shared / "man/pl").glob("man[1-7]/*.gz"))]
    lines = [line for page in pages for line in page.splitlines() if line[:1] not in ".'" and len(line) > 60]
    return [re.sub(r"\\f.|\\", "", line) for line in lines if not is_english(line) and not re.search(r"[(=;<]", line)]


def programs(shared: Path) -> Iterator[str]:
    """Program text and markup."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [*sorted(library.glob("*.py"))[::2], *sorted(Path("/usr/include").glob("*.h"))[::2]]
    files += sorted((shared / "doc/installation-guide-amd64/en").glob("*.html"))[::8]
    for file in files:
        yield file.read_text(errors="ignore")[:40_000]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
