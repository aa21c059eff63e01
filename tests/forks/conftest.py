"""Repositories of the tests."""

from collections.abc import Callable
from pathlib import Path

import pytest
from forktrees import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Tree]:
    """`tree("name")` makes an empty repository in the test's folder."""

    def make(name: str, *words: str) -> Tree:
        return Tree(tmp_path / name, *words)

    return make
