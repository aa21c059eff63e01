"""Where a fork left its upstream, on repositories made by git: counts, authors, merges, and histories that are cut or foreign."""

from collections.abc import Callable
from pathlib import Path

import pytest
from forktrees import Tree

from auditor.core.forks.review import ForkReview
from auditor.errors import UsageError
from auditor.reference.forkrules import bundled_fork_rules
from auditor.review.forks import review_fork

Make = Callable[..., Tree]


def review(path: Path, **options: str | None) -> ForkReview:
    return review_fork(str(path), bundled_fork_rules(), **options)


@pytest.fixture
def pair(tree: Make) -> tuple[Tree, Tree]:
    """An upstream of three commits and a tag, and a fork with two of its own."""
    upstream = tree("upstream")
    upstream.commit({"engine.py": "a = 1\n"}, "one")
    upstream.commit({"engine.py": "a = 2\n"}, "two")
    upstream("tag", "-a", "v1", "-m", "v1")
    fork = tree("fork")
    fork("pull", "--quiet", str(upstream.path), "main")
    upstream.commit({"engine.py": "a = 3\n"}, "three")
    fork.commit({"own.py": "x = 1\n"}, "first\n\nCo-authored-by: Ben <b@example.org>", author="Eve")
    fork.commit({"own.py": "x = 2\n"}, "second", author="Mallory")
    return upstream, fork


def test_a_fork_is_set_against_the_commit_at_which_it_left(pair: tuple[Tree, Tree]) -> None:
    upstream, fork = pair
    found = review(fork.path, upstream=str(upstream.path)).history
    assert found.base == upstream("rev-parse", "v1^{commit}")
    assert (found.base_name, found.relation, found.bases) == ("v1", "ancestor", 1)
    assert (found.ahead, found.behind, found.merges, found.picked) == (2, 1, 0, 0)
    assert [(one.name, one.commits, one.helped) for one in found.authors] == [
        ("Eve", 1, 0),
        ("Mallory", 1, 0),
        ("Ben", 0, 1),
    ]
    assert (found.head_name, found.upstream_name) == ("main", "main")
    assert found.first_ns is not None
    assert found.last_ns is not None
    assert found.last_ns - found.first_ns == 60_000_000_000


def test_what_the_upstream_changed_is_not_counted_when_it_was_merged_in(pair: tuple[Tree, Tree]) -> None:
    upstream, fork = pair
    fork("fetch", "--quiet", str(upstream.path), "main")
    fork("merge", "--quiet", "--no-edit", "FETCH_HEAD")
    found = review(fork.path, upstream=str(upstream.path))
    assert (found.history.ahead, found.history.behind) == (3, 0)
    assert (found.history.merges, found.history.upstream_merges) == (1, 1)
    assert [row.path for row in found.rows] == ["own.py"]
    assert found.lines == 1


def test_a_picked_commit_is_told(pair: tuple[Tree, Tree]) -> None:
    upstream, fork = pair
    fork("fetch", "--quiet", str(upstream.path), "main")
    fork("cherry-pick", "FETCH_HEAD")
    found = review(fork.path, upstream=str(upstream.path))
    assert found.history.picked == 1
    assert any("the like" in note for note in found.notes)


def test_a_release_branch_of_the_upstream_is_the_upstreams(pair: tuple[Tree, Tree]) -> None:
    upstream, fork = pair
    upstream("checkout", "--quiet", "-b", "releases/v1", "v1")
    upstream.commit({"engine.py": "a = 2.1\n"}, "backport")
    fork("fetch", "--quiet", str(upstream.path), "releases/v1")
    fork("reset", "--quiet", "--hard", "FETCH_HEAD")
    fork.commit({"own.py": "x = 3\n"}, "own")
    upstream("checkout", "--quiet", "main")
    found = review(fork.path, upstream=str(upstream.path)).history
    assert (found.ahead, found.base_name) == (1, "releases/v1")


def test_refs_bases_and_heads_may_be_named(pair: tuple[Tree, Tree]) -> None:
    _, fork = pair
    fork("tag", "start", "HEAD~2")
    assert review(fork.path, upstream="start").history.ahead == 2
    assert review(fork.path, base="HEAD~1", head="main").history.ahead == 1
    assert review(fork.path, base=fork("rev-parse", "--short=9", "HEAD~1")).history.relation == "given"
    assert review(fork.path, upstream="start", head="main~1").history.ahead == 1
    for options in ({"upstream": "nowhere"}, {"base": "nowhere"}, {"upstream": "start", "head": "--all"}):
        with pytest.raises(UsageError, match=r"no such (folder or )?ref"):
            review(fork.path, **options)


def test_bare_detached_and_linked_clones_give_the_same(pair: tuple[Tree, Tree], tmp_path: Path) -> None:
    upstream, fork = pair
    fork("clone", "--quiet", "--bare", str(fork.path), str(tmp_path / "fork.git"))
    fork("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    fork("clone", "--quiet", "--shared", "--no-checkout", str(fork.path), str(tmp_path / "shared"))
    wanted = review(fork.path, upstream=str(upstream.path))
    for name in ("fork.git", "linked", "shared"):
        found = review(tmp_path / name, upstream=str(upstream.path))
        assert found.rows == wanted.rows
        assert found.history.head_name == (None if name == "linked" else "main")


def test_a_missing_upstream_is_asked_for_by_its_name(pair: tuple[Tree, Tree]) -> None:
    upstream, fork = pair
    with pytest.raises(UsageError, match="no upstream was given") as caught:
        review(fork.path)
    assert "--base" in str(caught.value)
    fork("remote", "add", "upstream", str(upstream.path))
    fork("fetch", "--quiet", "upstream")
    with pytest.raises(UsageError, match="give --upstream upstream/main"):
        review(fork.path)
    assert review(fork.path, upstream="upstream/main").history.ahead == 2


def test_without_common_history_the_very_files_of_an_upstream_commit_are_the_base(
    pair: tuple[Tree, Tree], tree: Make
) -> None:
    upstream, _ = pair
    squashed = tree("squashed")
    squashed.commit({"engine.py": "a = 2\n"}, "import")
    squashed.commit({"own.py": "x = 1\n"}, "own")
    found = review(squashed.path, upstream=str(upstream.path))
    assert (found.history.relation, found.history.base_name, found.history.bases) == ("same-tree", "v1", 0)
    assert [row.path for row in found.rows] == ["own.py"]
    assert "share no commit" in found.notes[0]


def test_without_common_history_the_nearest_ref_is_the_base_and_that_is_said(
    pair: tuple[Tree, Tree], tree: Make
) -> None:
    upstream, _ = pair
    upstream.commit({f"new{number}.py": "n = 1\n" for number in range(5)}, "four")
    squashed = tree("squashed")
    squashed.commit({"engine.py": "a = 2\n", "own.py": "x = 1\n"}, "import with changes")
    found = review(squashed.path, upstream=str(upstream.path))
    assert (found.history.relation, found.history.base_name) == ("nearest-tree", "v1")
    assert [row.path for row in found.rows] == ["own.py"]
    alone = tree("alone")
    alone.commit({"engine.py": "a = 9\n"}, "one")
    assert review(squashed.path, upstream=str(alone.path)).history.relation == "tree"


def test_a_shallow_clone_says_that_it_is_cut(pair: tuple[Tree, Tree], tmp_path: Path, tree: Make) -> None:
    upstream, fork = pair
    fork("clone", "--quiet", "--depth=1", f"file://{fork.path}", str(tmp_path / "shallow"))
    foreign = tree("foreign")
    foreign.commit({"other.py": "o = 1\n"}, "other")
    found = review(tmp_path / "shallow", upstream=str(foreign.path))
    assert found.history.cut == 1
    assert any("shallow" in note for note in found.notes)
    deep = tmp_path / "deep"
    fork("clone", "--quiet", "--depth=2", f"file://{fork.path}", str(deep))
    whole = review(deep, upstream=str(upstream.path))
    assert (whole.history.relation, whole.history.ahead, whole.history.cut) == ("ancestor", 2, 0), (
        "the upstream has the rest"
    )


def test_sha256_repositories_are_read_and_not_mixed_with_others(tree: Make, pair: tuple[Tree, Tree]) -> None:
    new = tree("sha256", "--object-format=sha256")
    new.commit({"a.py": "a = 1\n"}, "one")
    new.commit({"a.py": "a = 2\n"}, "two")
    found = review(new.path, upstream="HEAD~1")
    assert len(found.history.base) == 64
    assert found.lines == 2
    with pytest.raises(UsageError, match="sha1 objects"):
        review(new.path, upstream=str(pair[0].path))


def test_criss_cross_merges_take_the_base_from_which_least_differs(tree: Make) -> None:
    both = tree("both")
    both.commit({"a.py": "a = 1\n"}, "root")
    both("checkout", "--quiet", "-b", "fork")
    mine = both.commit({"own.py": "x = 1\n"}, "mine")
    both("checkout", "--quiet", "main")
    theirs = both.commit({"a.py": "a = 2\n"}, "theirs")
    both("merge", "--quiet", "--no-edit", mine)
    both("checkout", "--quiet", "fork")
    both("merge", "--quiet", "--no-edit", theirs)
    both.commit({"own.py": "x = 2\n"}, "more")
    found = review(both.path, upstream="main", head="fork")
    assert found.history.bases == 2
    assert any("2 best common ancestors" in note for note in found.notes)
    assert found.history.base in (mine, theirs)


def test_a_fork_without_a_commit_of_its_own_changes_nothing(pair: tuple[Tree, Tree]) -> None:
    upstream, _ = pair
    found = review(upstream.path, upstream="v1", head="v1")
    assert (found.history.ahead, found.files, found.classes) == (0, 0, ())
    assert {answer.outcome for answer in found.answers} == {"no"}
    assert any("nothing to review" in note for note in found.notes)


def test_commits_are_told_with_the_classes_that_their_files_ended_in(pair: tuple[Tree, Tree]) -> None:
    upstream, fork = pair
    fork.commit({"csrc/k.cu": "__global__ void k() {}\n"}, "kernel")
    fork.commit({"csrc/k.cu": None}, "no kernel")
    found = review(fork.path, upstream=str(upstream.path))
    assert [(one.subject, one.labels, one.undone) for one in found.commits[:2]] == [
        ("no kernel", (), 1),
        ("kernel", (), 1),
    ]
    assert found.answers[0].outcome == "no"
