"""The feeds: an Atom feed and a JSON feed of the newest audits; an amendment brings an audit up again."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

from auditor.core.record import canonical_json
from auditor.report.site.entries import Entry
from auditor.report.site.pages import events_of, verdict_words

ATOM, JSON_FEED = "feed.xml", "feed.json"
MOST = 100
"""Audits in a feed."""
_ATOM = "http://www.w3.org/2005/Atom"
_NAMES = uuid.UUID("6e0c1f2a-6f0b-5c37-9f0e-0f1d6d1d7a11")
"""Name space of the ids, so that an audit has the same wherever its site is put."""


def feeds(title: str, entries: Sequence[Entry], base_url: str) -> dict[str, bytes]:
    """Both feeds, by path. Without a base address their links lead from where the feed is."""
    dated = sorted((one for one in entries if one.updated_ns), key=lambda one: (-one.updated_ns, one.key))[:MOST]
    return {ATOM: _atom(title, dated, base_url), JSON_FEED: _json(title, dated, base_url)}


def _atom(title: str, entries: Sequence[Entry], base_url: str) -> bytes:
    feed = ElementTree.Element("feed", xmlns=_ATOM)
    _text(feed, "title", title)
    _text(feed, "id", _id("site", title))
    _text(feed, "updated", _moment(max((one.updated_ns for one in entries), default=0)))
    _link(feed, "self", f"{base_url}{ATOM}")
    _link(feed, "alternate", f"{base_url}index.html")
    author = ElementTree.SubElement(feed, "author")
    _text(author, "name", "auditor")
    for one in entries:
        item = ElementTree.SubElement(feed, "entry")
        _text(item, "title", _title(one))
        _text(item, "id", _id(*one.key))
        _text(item, "updated", _moment(one.updated_ns))
        if one.started_ns is not None:
            _text(item, "published", _moment(one.started_ns))
        _link(item, "alternate", f"{base_url}{one.place}index.html")
        _text(item, "summary", _summary(one))
    ElementTree.indent(feed)
    data: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _json(title: str, entries: Sequence[Entry], base_url: str) -> bytes:
    items = [_item(one, base_url) for one in entries]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items}
    if base_url:
        feed |= {"home_page_url": f"{base_url}index.html", "feed_url": f"{base_url}{JSON_FEED}"}
    return canonical_json(feed)


def _item(one: Entry, base_url: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": _id(*one.key),
        "url": f"{base_url}{one.place}index.html",
        "title": _title(one),
        "content_text": _summary(one),
        "date_modified": _moment(one.updated_ns),
        "_audit": {
            "claim": one.claim,
            "case": one.case,
            "verdict": one.verdict,
            "status": list(one.words),
            "claimed": one.claimed.value,
            "delivered": one.delivered.value,
            "factor": one.factor.value,
        },
    }
    return item if one.started_ns is None else {**item, "date_published": _moment(one.started_ns)}


def _title(one: Entry) -> str:
    words = f" ({', '.join(one.words)})" if one.words else ""
    return f"{verdict_words(one)}{words}: {one.title}"


def _summary(one: Entry) -> str:
    """The sentence of the verdict, then everything that was said of it since."""
    since = [f"{event.date}, {event.label}: {event.text}" for event in reversed(events_of([one]))]
    return "\n\n".join(part for part in (one.problem or "", *since) if part)


def _id(*key: str) -> str:
    return uuid.uuid5(_NAMES, "\n".join(key)).urn


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).isoformat(timespec="seconds")


def _text(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = text


def _link(parent: ElementTree.Element, rel: str, href: str) -> None:
    ElementTree.SubElement(parent, "link", {"rel": rel, "href": href})
