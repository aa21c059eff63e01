"""The migrations: one line of history, up and down through every revision, and the same tables as the models."""

from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from pytest_alembic import MigrationContext
from pytest_alembic.tests import (  # noqa: F401  run here, on both databases
    test_model_definitions_match_ddl,
    test_single_head_revision,
    test_up_down_consistency,
    test_upgrade,
)
from sqlalchemy import Engine, inspect

from auditor.db.engine import locate, make_engine
from auditor.db.migrate import migrations_folder, upgrade
from auditor.db.tables import REVISION, Base


@pytest.fixture
def alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()))
    return config


@pytest.fixture
def alembic_engine(empty_url: str) -> Engine:
    return make_engine(locate(empty_url), foreign_keys=False)


def test_newest_revision_is_the_one_that_the_code_names() -> None:
    script = ScriptDirectory(str(migrations_folder()))
    assert script.get_heads() == [REVISION]


def test_file_names_begin_with_their_revision() -> None:
    for script in ScriptDirectory(str(migrations_folder())).walk_revisions():
        assert script.path.rpartition("/")[2].startswith(f"{script.revision}_")


def test_all_the_way_down_leaves_no_table(alembic_runner: MigrationContext, alembic_engine: Engine) -> None:
    alembic_runner.migrate_up_to("head")
    assert set(inspect(alembic_engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}
    alembic_runner.migrate_down_to("base")
    assert inspect(alembic_engine).get_table_names() == ["alembic_version"]


def test_migrations_make_what_the_models_make(empty_url: str) -> None:
    """Names of constraints and all, which the comparison of Alembic leaves out."""
    engine = make_engine(locate(empty_url), foreign_keys=False)
    Base.metadata.create_all(engine)
    wanted = _shape(engine)
    Base.metadata.drop_all(engine)
    upgrade(locate(empty_url))
    assert _shape(engine) == wanted


def _shape(engine: Engine) -> dict[str, Any]:
    seen = inspect(engine)
    return {
        table: {
            "columns": [{**column, "type": str(column["type"])} for column in seen.get_columns(table)],
            "primary key": seen.get_pk_constraint(table),
            "foreign keys": sorted(seen.get_foreign_keys(table), key=lambda key: str(key["name"])),
            "indexes": sorted(seen.get_indexes(table), key=lambda index: str(index["name"])),
            "unique": seen.get_unique_constraints(table),
        }
        for table in sorted(Base.metadata.tables)
    }


def test_upgrade_says_what_it_did(empty_url: str) -> None:
    place = locate(empty_url)
    first, second = upgrade(place), upgrade(place)
    assert (first.before, first.after, first.copy) == (None, REVISION, None)
    assert (second.before, second.after, second.copy) == (REVISION, REVISION, None)


def test_every_time_is_a_big_integer() -> None:
    times = [
        column for table in Base.metadata.tables.values() for column in table.columns if column.name.endswith("_ns")
    ]
    assert len(times) >= 8
    assert {str(column.type) for column in times} == {"BIGINT"}
    kinds = {str(column.type) for table in Base.metadata.tables.values() for column in table.columns}
    assert not kinds & {"DATETIME", "TIMESTAMP", "DATE", "TIME"}
