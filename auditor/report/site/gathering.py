"""From folders, database and the site as it was to what is published now. Pure.

Nothing that was published goes without a trace: an audit whose folder is gone stays as removed, a verdict that was
replaced stays as an earlier one, and an amendment that was shown stays though its line was cut off.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from auditor.core.record import sha256
from auditor.report.shown import one_line
from auditor.report.site.entries import Audits, ClaimCard, Entry, ForkCard, Judgement, Problem
from auditor.report.site.found import Found

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Indexed:
    """What the database says beside the folders."""

    entries: tuple[Entry, ...] = ()
    """Runs, imports and claims that it knows, each with a reason for the case that no folder holds it."""
    judgements: Mapping[str, tuple[Judgement, ...]] = field(default_factory=dict)
    """Every verdict of a run, the oldest first, by the run's id."""
    claims: Mapping[str, ClaimCard] = field(default_factory=dict)
    forks: Mapping[str, ForkCard] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)
    """The text of each claim, by its id."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is published."""

    audits: Audits
    folders: Mapping[Key, Found]
    """The folder behind an entry, where there is one."""
    texts: Mapping[str, bytes]
    problems: tuple[Problem, ...]


def gather(found: Iterable[Found], indexed: Indexed, earlier: Audits, now_ns: int) -> Gathered:
    """Everything that is published; `earlier` is what the site held before, and `now_ns` the moment of this making."""
    folders, problems = _each_once(found)
    forks = _forks(
        [*earlier.forks.values(), *indexed.forks.values(), *(one.fork for one in folders.values() if one.fork)]
    )
    for one in folders.values():
        if not one.entry.is_row:
            one.update(fork=_reviewed(one.entry, forks))
    entries = {key: one.entry for key, one in folders.items()}
    for known in indexed.entries:
        if known.kind != "claim":
            entries[known.key] = _dated(entries.get(known.key, known), known)
    entries = {key: _with_earlier(one, indexed.judgements.get(one.id, ())) for key, one in entries.items()}
    _remember(entries, earlier, now_ns)
    audited = {one.claim for one in entries.values()}
    for known in (*indexed.entries, *earlier.entries):
        if known.kind == "claim" and known.claim not in audited:
            entries.setdefault(known.key, known)
    order = tuple(sorted(entries.values(), key=lambda one: (-(one.started_ns or 0), one.key)))
    # The file of the newest run says what that run was measured against.
    newest = sorted(folders.values(), key=lambda one: (one.entry.started_ns or 0, one.where))
    texts = dict(indexed.texts)
    texts |= {one.card.id: one.claim_text for one in newest if one.card and one.claim_text is not None}
    known_claims = {**earlier.claims, **indexed.claims, **{one.card.id: one.card for one in newest if one.card}}
    claims = {one.claim: ClaimCard(id=one.claim, title=one.claim) for one in order if one.claim is not None}
    named = {one.fork for one in order}
    problems += [Problem(folder=one_line(one.where), what=one.entry.problem) for one in newest if one.entry.problem]
    audits = Audits(
        entries=order,
        claims={name: known_claims.get(name, claims[name]) for name in sorted(claims)},
        forks={slug: forks[slug] for slug in sorted(forks) if slug in named},
    )
    return Gathered(audits, folders, texts, tuple(problems))


def _forks(cards: Iterable[ForkCard]) -> dict[str, ForkCard]:
    """The forks by slug, each with every commit that is named of it."""
    found: dict[str, ForkCard] = {}
    for card in cards:
        other = found.get(card.slug)
        commits = sorted({*card.commits, *(other.commits if other else ())})
        found[card.slug] = card.model_copy(update={"commits": tuple(commits), "url": card.url or (other and other.url)})
    return found


def _reviewed(entry: Entry, forks: Mapping[str, ForkCard]) -> str | None:
    """The fork that a review is of: the one of which claims name this commit, else one of the review's own name."""
    for slug, card in sorted(forks.items()):
        if slug != entry.fork and any(entry.id.startswith(commit) for commit in card.commits):
            return slug
    return entry.fork


def _each_once(found: Iterable[Found]) -> tuple[dict[Key, Found], list[Problem]]:
    """The folders by key.

    The same run twice is shown once, from a folder that can be read and has its name; another run of the same name gets
    an address of its own.
    """
    folders: dict[Key, Found] = {}
    problems = []
    order = sorted(found, key=lambda one: (bool(one.entry.problem), one.folder.name != one.entry.id, one.where))
    for one in order:
        other = folders.get(one.entry.key)
        if other is not None and _is_same(one.entry, other.entry):
            problems.append(
                Problem(folder=one_line(one.where), what=f"the same run as {one_line(other.where)}, which is shown")
            )
            continue
        if other is not None:
            one.update(slug=f"{one.entry.slug[:90]}-{sha256(one.where.encode('utf-8', 'replace'))[:6]}")
        folders[one.entry.key] = one
    return folders, problems


def _is_same(one: Entry, other: Entry) -> bool:
    return one.started_ns is not None and (one.started_ns, one.case) == (other.started_ns, other.case)


def _dated(entry: Entry, known: Entry) -> Entry:
    """The entry with the database's date where its folder has none."""
    if entry.started_ns is not None:
        return entry
    return entry.model_copy(update={"started": known.started, "started_ns": known.started_ns})


def _with_earlier(entry: Entry, judgements: Iterable[Judgement]) -> Entry:
    """The entry with the verdicts that it had before the one that stands; the time of that one, where it is told."""
    stands, earlier = entry.judged_ns, dict[tuple[str, str], Judgement]()
    for one in (*entry.judgements, *judgements):
        if (one.verdict, one.said) == (entry.verdict, entry.said):
            stands = one.judged_ns if stands is None else stands
        elif (one.verdict, one.said) not in earlier or one.judged_ns is not None:
            earlier[one.verdict, one.said] = one
    return entry.model_copy(update={"judged_ns": stands, "judgements": tuple(earlier.values())})


def _remember(entries: dict[Key, Entry], earlier: Audits, now_ns: int) -> None:
    """Lay what was published before beneath what is published now."""
    for old in earlier.entries:
        new = entries.get(old.key)
        if old.kind == "claim" or (new is None and old.verdict is None and old.kind not in ("review", "sweep")):
            continue
        if old.kind == "import" and ("claim-review", *old.key[1:]) in entries:
            continue  # An earlier version of the tool showed it as an import.
        if new is None:
            removed_ns = old.removed_ns if old.removed_ns is not None else now_ns
            entries[old.key] = old.model_copy(update={"removed_ns": removed_ns, "files": ()})
        else:
            entries[old.key] = _over(new, old)


_CARRIED = (
    "verdict", "grade", "sentence", "said", "judged_ns", "reasons", "flags", "claimed", "delivered", "factor",
    "started", "started_ns",
)  # fmt: skip


def _over(new: Entry, old: Entry) -> Entry:
    """The entry as it is now, with what was published of it and cannot be seen any more."""
    if new.verdict is None and old.verdict is not None and new.problem is not None:
        new = new.model_copy(update={name: getattr(old, name) for name in _CARRIED})
    if old.verdict is not None and old.said is not None:
        new = _with_earlier(
            new, (*old.judgements, Judgement(verdict=old.verdict, said=old.said, judged_ns=old.judged_ns))
        )
    shown = old.amendments
    if len(shown) > len(new.amendments) and shown[: len(new.amendments)] == new.amendments:
        problem = new.problem or "amendments that were published are no longer in its folder"
        new = new.model_copy(update={"amendments": shown, "problem": problem})
    return new
