"""What a fork changes, counted hunk by hunk, as one record. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from auditor.core.forks.answers import MOST_PATH, Answer, AnswerBook
from auditor.core.forks.classify import Classifier
from auditor.core.forks.history import Commit, History
from auditor.core.forks.patch import ChangedFile, Hunk, Renamed, Unread
from auditor.core.record import Record, sha256
from auditor.reference.forkrules import CLASSES, Class, Kind, RuleFile

FORK_REVIEW = "fork.json"
"""The file of a review that is kept."""
FORK_VERSION = 1
"""1: the first."""
MOST_FILES, MOST_COMMITS = 2_000, 1_000
"""Files and commits that are kept."""


class ClassCount(Record):
    """What changed of one class."""

    label: Class
    kind: Kind | None
    """Of kernel code, where the rules tell."""
    hunks: int
    files: int
    added: int
    """Lines."""
    removed: int


class FileRow(Record):
    """A file that differs."""

    path: str
    label: Class
    """The class of most of its changed lines."""
    status: str
    """`A` added, `D` deleted, `M` modified, `T` of another type."""
    added: int
    removed: int


class CommitRow(Record):
    """A commit of the fork's own, and what its files are to the comparison."""

    id: str
    author: str
    authored_ns: int
    """By the author's own clock; ns since 1970."""
    subject: str
    files: int
    labels: tuple[Class, ...]
    """Classes of its files that still differ, in the order of the classes."""
    undone: int
    """Its files that no longer differ."""


class ForkReview(Record):
    """A fork beside its upstream."""

    fork_version: int = FORK_VERSION
    name: str
    upstream: str | None
    """Name of the upstream's repository; None where it is the fork's own."""
    history: History
    files: int
    """Paths that differ; a renamed file has two."""
    moved: int
    """Files that lie elsewhere, without a change."""
    renamed: int
    """Files that lie elsewhere, with changes; only these are counted."""
    unread: int
    """Files of which no lines are compared: no text, or larger than git compares."""
    modules: int
    """Pinned commits of other repositories."""
    modes: int
    """Files of which only the mode differs."""
    classes: tuple[ClassCount, ...]
    """In the order of the classes; those without a change are left out."""
    rows: tuple[FileRow, ...]
    """Files with the most changed lines, at most `MOST_FILES`."""
    commits: tuple[CommitRow, ...]
    """The newest commits that are no merges, at most `MOST_COMMITS`."""
    answers: tuple[Answer, ...]
    notes: tuple[str, ...]
    """What a reader must know before the answers."""
    rules: str
    """SHA-256 of the rules and questions."""

    @property
    def lines(self) -> int:
        """Changed lines."""
        return sum(one.added + one.removed for one in self.classes)


@dataclass(slots=True)
class _Tally:
    hunks: int = 0
    files: set[str] = field(default_factory=set)
    added: int = 0
    removed: int = 0


class Reading:
    """Takes the files and the hunks of a comparison; then tells what they come to."""

    def __init__(self, rules: RuleFile, files: Iterable[ChangedFile]) -> None:
        self._classifier = Classifier(rules.rules)
        self._book = AnswerBook(rules.questions)
        self._files = {file.path: file for file in files}
        self._tallies: defaultdict[tuple[Class, Kind | None], _Tally] = defaultdict(_Tally)
        self._of_file: defaultdict[str, Counter[Class]] = defaultdict(Counter)
        self._sizes: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._unread = self._moved = self._renamed = 0

    def add(self, found: Hunk | Unread | Renamed) -> None:
        """Take a hunk, a file of which no lines are compared, or a rename."""
        if isinstance(found, Hunk):
            self._add_hunk(found)
            return
        label = self._classifier.of_file(found.path)
        self._of_file[found.path][label] += 0
        if isinstance(found, Unread):
            self._unread += 1
            self._book.add_unread(found.path, label)
        elif found.is_same:
            self._moved += 1
        else:
            self._renamed += 1

    def _add_hunk(self, found: Hunk) -> None:
        classed = self._classifier.classify(found)
        tally = self._tallies[classed.label, classed.kind]
        tally.hunks += 1
        tally.files.add(found.path)
        tally.added += found.added
        tally.removed += found.removed
        self._of_file[found.path][classed.label] += found.added + found.removed
        size = self._sizes[found.path]
        size[0] += found.added
        size[1] += found.removed
        self._book.add(found, classed)

    def classes(self) -> tuple[ClassCount, ...]:
        """What changed of each class."""
        return tuple(
            ClassCount(
                label=label, kind=kind, hunks=one.hunks, files=len(one.files), added=one.added, removed=one.removed
            )
            for (label, kind), one in sorted(self._tallies.items(), key=_order)
        )

    def rows(self) -> tuple[FileRow, ...]:
        """The files with the most changed lines."""
        paths = sorted(self._of_file, key=lambda path: (-sum(self._sizes[path]), path))
        return tuple(
            FileRow(
                path=path[:MOST_PATH],
                label=self.label_of(path) or "serving",
                status=self._files[path].status if path in self._files else "M",
                added=self._sizes[path][0],
                removed=self._sizes[path][1],
            )
            for path in paths[:MOST_FILES]
        )

    def label_of(self, path: str) -> Class | None:
        """The class of most changed lines of a file; None where it does not differ."""
        counts = self._of_file.get(path)
        return counts.most_common(1)[0][0] if counts else None

    def review(
        self,
        history: History,
        *,
        name: str,
        upstream: str | None,
        commits: tuple[CommitRow, ...],
        notes: tuple[str, ...],
        rules: RuleFile,
    ) -> ForkReview:
        """Everything as one record."""
        files = self._files.values()
        return ForkReview(
            name=name,
            upstream=upstream,
            history=history,
            files=len(self._files),
            moved=self._moved,
            renamed=self._renamed,
            unread=self._unread,
            modules=sum(file.is_module for file in files),
            modes=sum(file.is_mode_only for file in files),
            classes=self.classes(),
            rows=self.rows(),
            commits=commits,
            answers=self._book.answers(),
            notes=notes,
            rules=sha256(rules.model_dump_json().encode()),
        )


def _order(item: tuple[tuple[Class, Kind | None], _Tally]) -> tuple[int, str]:
    (label, kind), _ = item
    return CLASSES.index(label), kind or ""


def commit_row(commit: Commit, paths: Iterable[str], label_of: Mapping[str, Class]) -> CommitRow:
    """A commit with what its files are to the comparison."""
    touched = list(paths)
    labels = {label_of[path] for path in touched if path in label_of}
    return CommitRow(
        id=commit.id,
        author=commit.author,
        authored_ns=commit.authored_ns,
        subject=commit.subject,
        files=len(touched),
        labels=tuple(label for label in CLASSES if label in labels),
        undone=sum(path not in label_of for path in touched),
    )
