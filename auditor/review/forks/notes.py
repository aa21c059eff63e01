"""What a reader must know of a comparison before its answers: what was cut, guessed or given."""

from auditor.core.forks.history import History
from auditor.core.wording import plural
from auditor.review.forks.repository import Repository

_RELATIONS = {
    "ancestor": "",
    "given": "The base was given, not found: what differs from it is reviewed, whoever wrote it.",
    "same-tree": "The two share no commit. The fork's first commit has the very files of an upstream commit, which is "
    "the base.",
    "nearest-tree": "The two share no commit. The base is the upstream branch or tag whose files are nearest to the "
    "fork's first commit: changes may be counted that the upstream made.",
    "tree": "The two share no commit. The files are compared with the upstream's tip: changes are counted that the "
    "upstream made.",
}


def notes_of(history: History, fork: Repository, other: Repository | None, uncommitted: int | None) -> tuple[str, ...]:
    """The notes, in the order in which they matter; `uncommitted` files differ from HEAD in the working tree."""
    notes = [_RELATIONS[history.relation]]
    if history.cut:
        where = plural(history.cut, "commit")
        notes.append(
            f"The history is cut at {where} (a shallow clone): commits are the least that is true, and the common "
            "ancestor may lie deeper. `git fetch --unshallow` makes it whole."
        )
    if history.bases > 1:
        notes.append(
            f"There are {history.bases} best common ancestors; the one from which the fewest files differ is the base."
        )
    if history.relation == "ancestor" and history.head == history.base:
        notes.append("Every commit of the fork is the upstream's: there is nothing to review.")
    if history.picked:
        notes.append(
            f"{plural(history.picked, 'commit')} of the fork: the upstream has the like by now (same author, time and "
            "subject); what they change is counted all the same."
        )
    if uncommitted:
        files = plural(uncommitted, "tracked file")
        notes.append(f"{files} of the working tree differ{'s' if uncommitted == 1 else ''} from HEAD: not reviewed.")
    if any(one and one.is_partial for one in (fork, other)):
        notes.append("A clone is partial; everything that differs was there.")
    return tuple(note for note in notes if note)


def is_sure(history: History) -> bool:
    """Whether what was compared is the fork's own work as far as its commits tell."""
    return history.relation in ("ancestor", "given", "same-tree") and not history.cut
