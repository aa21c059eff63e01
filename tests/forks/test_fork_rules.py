"""The rules are data that holds together, and the page in docs/ names all of it."""

from pathlib import Path

from auditor.core.forks.patch import Hunk, unquoted
from auditor.core.forks.tokens import is_comment_only
from auditor.reference.forkrules import BY_FILE, CLASSES, bundled_fork_rules

PAGE = (Path(__file__).parents[2] / "docs" / "forks.md").read_text()


def hunk(path: str, *lines: str) -> Hunk:
    return Hunk(path, "M", 1, 1, lines=list(lines))


def test_every_class_and_question_is_explained() -> None:
    for name in (*CLASSES, *(question.id for question in bundled_fork_rules().questions)):
        assert f"`{name}`" in PAGE, name


def test_every_class_has_a_rule_but_the_two_that_need_none() -> None:
    assert set(CLASSES) - {rule.label for rule in bundled_fork_rules().rules} == {"comments"}
    assert set(BY_FILE) < set(CLASSES)


def test_comments_docstrings_and_reflows_are_told_from_code() -> None:
    assert is_comment_only(hunk("a.py", "-x = 1  # one", "+x = 1  # two"))
    assert is_comment_only(hunk("a.py", "-call(a, b)", "+call(", "+    a,", "+    b,", "+)"))
    assert is_comment_only(
        hunk(
            "a.py",
            "     text that goes on in a docstring here",
            "-    and says one thing",
            "+    and says another thing",
        )
    )
    assert is_comment_only(hunk("a.cu", " int a;", "-// one", "+/* two", "+ * three", "+ */"))
    assert is_comment_only(hunk("a.py", '-    """Says one thing."""', '+    """Says another."""'))
    assert not is_comment_only(hunk("a.py", "-x = 1  # one", "+x = 2  # one"))
    assert not is_comment_only(
        hunk("a.py", ' """A docstring ends here.', ' """', "-count = 1", "+count = 2", ' """', " and another begins")
    )
    assert not is_comment_only(hunk("a.py", "     num_prefills: int", "+    num_drafts: int"))
    assert not is_comment_only(hunk("a.py", '     "mps": mps_plugin,', '+    "npu": npu_plugin,'))
    assert not is_comment_only(hunk("a.py", '-x = "# one"', '+x = "# two"'))
    assert not is_comment_only(hunk("a.cu", "-#define K 1", "+#define K 2"))


def test_names_that_git_quotes_are_read_as_they_are() -> None:
    assert unquoted(rb'"a\tb\n\"\\\303\274"') == b'a\tb\n"\\\xc3\xbc'
    assert unquoted(b"plain") == b"plain"
