"""`audit claims`: check, show and store claim files."""

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import AuditError, ClaimError, Exit, UsageError

if TYPE_CHECKING:
    from auditor.core.claim.claim import Claim
    from auditor.db.store import Store

_EPILOG = """\b
Exit codes:
  0  done
  1  the tool or the database failed
  2  usage: a bad claim, option or file"""


@click.group(epilog=_EPILOG)
def claims() -> None:
    """Check, show and store claim files."""


@claims.command(epilog=_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option
@click.pass_context
def validate(ctx: click.Context, files: tuple[str, ...], as_json: bool) -> None:
    """Check claim files, and say everything that is wrong with them."""
    from auditor.core.claim.errors import MAX_ERRORS

    output = Output(as_json)
    results = _checked(files)
    for result in results:
        for error in result["errors"]:
            output.note(f"audit: {error}")
        if len(result["errors"]) == MAX_ERRORS:
            output.note(f"audit: {result['file']}: there may be more; mend these first")
        if not result["errors"]:
            count = len(result["measurements"])
            output.say(f"{result['file']}: valid, {count} measurement{'' if count == 1 else 's'}")
            if result["without_number"]:
                output.note(f"audit: {result['file']}: {_without(result)}")
            for words in result["warnings"]:
                output.note(f"audit: {result['file']}: {words}")
    output.document({"files": [{**result, "errors": _as_json(result["errors"])} for result in results]})
    if any(result["errors"] for result in results):
        ctx.exit(Exit.USAGE)


@claims.command(epilog=_EPILOG)
@click.argument("name", metavar="FILE|ID")
@click.option("--row", metavar="ID", help="One measurement of a claim that has several.")
@database_option
@json_option
def show(name: str, row: str | None, database: str | None, as_json: bool) -> None:
    """Print what a claim states and what it leaves open.

    Takes a claim file, or the id of a claim in the database.
    """
    from auditor.cli.claimfile import find_claim
    from auditor.cli.claimshow import claim_text, terminal_width
    from auditor.core.claim.questions import questions_for
    from auditor.core.judging.switches import stated_switches

    claim, _ = find_claim(name, database)
    cases = claim.cases() if row is None else (claim.case(row),)
    output = Output(as_json)
    output.say(claim_text(claim, row, terminal_width()))
    output.document(
        {
            "claim": claim.model_dump(mode="json"),
            "cases": [
                {
                    **case.model_dump(mode="json"),
                    "reported_text": case.reported.as_text(),
                    "interval": case.reported.interval(),
                    "questions": questions_for(case),
                    "warnings": stated_switches(case),
                }
                for case in cases
            ],
        }
    )


@claims.command(epilog=_EPILOG)
@click.option("--markdown", is_flag=True, help="The fields as tables for people instead.")
@json_option
def schema(markdown: bool, as_json: bool) -> None:
    """Print the JSON Schema of a claim file, for editors."""
    import json

    from auditor.core.claim.claim import claim_schema
    from auditor.core.claim.doc import field_tables

    if markdown and not as_json:
        click.echo(field_tables(), nl=False)
    else:
        click.echo(json.dumps(claim_schema(), indent=2))


@claims.command(epilog=_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@database_option
@json_option
def add(files: tuple[str, ...], database: str | None, as_json: bool) -> None:
    """Store claim files in the database; a changed file is a new revision.

    If one of them is bad, none is stored.
    """
    from auditor.core.record import sha256

    read = _all_or_none(files)
    output = Output(as_json)
    stored = []
    with _store(database) as store:
        for file, claim, text in read:
            revision = store.add_claim(
                claim_id=claim.id,
                title=claim.title,
                text=text,
                digest=sha256(text.encode()),
                added_ns=time.time_ns(),
            )
            stored.append(
                {
                    "file": file,
                    "id": claim.id,
                    "revision": revision.revision,
                    "digest": revision.digest,
                    "is_new": revision.is_new,
                }
            )
            state = "stored" if revision.is_new else "already stored"
            output.say(f"{claim.id}: revision {revision.revision} {state}")
    output.document({"claims": stored})


@claims.command("list", epilog=_EPILOG)
@database_option
@json_option
def list_claims(database: str | None, as_json: bool) -> None:
    """List the claims in the database."""
    from datetime import UTC, datetime

    from auditor.cli.columns import table

    output = Output(as_json)
    with _store(database) as store:
        found = store.claims()
    rows: list[tuple[str, ...]] = [("CLAIM", "REVISION", "ADDED", "RUNS", "LAST VERDICT", "TITLE")]
    for claim in found:
        day = datetime.fromtimestamp(claim.added_ns // 10**9, UTC).strftime("%Y-%m-%d")
        verdict = claim.last_verdict or "not audited"
        rows.append((claim.claim_id, str(claim.revision), day, str(claim.runs), verdict, claim.title))
    if found:
        output.say("\n".join(table(rows, right=(1, 3), indent=0)))
    else:
        output.say("no claims stored; `audit claims add FILE` stores one")
    output.document(
        {
            "claims": [
                {
                    "id": claim.claim_id,
                    "title": claim.title,
                    "revision": claim.revision,
                    "added_ns": claim.added_ns,
                    "runs": claim.runs,
                    "last_verdict": claim.last_verdict,
                }
                for claim in found
            ]
        }
    )


def _store(database: str | None) -> "AbstractContextManager[Store]":
    from auditor.db.store import open_store

    return open_store(database)


def _all_or_none(files: tuple[str, ...]) -> "list[tuple[str, Claim, str]]":
    """Every file with its claim and its text; the error of the first bad one says that none was stored."""
    from auditor.cli.claimfile import read_claim

    read: list[tuple[str, Claim, str]] = []
    seen: dict[str, str] = {}
    for file in files:
        try:
            claim, text = read_claim(file)
            if claim.id in seen:
                what = f"id {claim.id} is also that of {seen[claim.id]}"
                raise ClaimError(what, where=f"{file}:1", remedy="rename one")
        except UsageError as error:
            if len(files) == 1:
                raise
            remedy = "; ".join(filter(None, [error.remedy, f"none of the {len(files)} files was stored"]))
            raise type(error)(error.what, where=error.where, remedy=remedy) from None
        seen[claim.id] = file
        read.append((file, claim, text))
    return read


def _without(result: dict[str, Any]) -> str:
    """The note on measurements that state no number."""
    from auditor.cli.claimshow import NO_NUMBER_NOTE

    rows, of = result["without_number"], len(result["measurements"])
    whom = f"{len(rows)} of {of} measurements ({', '.join(rows[:3])}{', ...' if len(rows) > 3 else ''})"
    return f"no number stated{f' in {whom}' if of > 1 else ''}; {NO_NUMBER_NOTE}"


def _checked(files: tuple[str, ...]) -> list[dict[str, Any]]:
    """What was found in each file; two files with one id are an error of the second."""
    from auditor.cli.claimfile import read_text
    from auditor.cli.claimshow import is_without_number
    from auditor.core.claim.claim import parse_claim, problems_of
    from auditor.core.judging.switches import stated_switches

    seen: dict[str, str] = {}
    results = []
    for file in files:
        claim, errors = None, list[AuditError]()
        try:
            text = read_text(file)
            errors += problems_of(text, file)
            claim = None if errors else parse_claim(text, file)
        except UsageError as error:
            errors.append(error)
        if claim is not None and claim.id in seen:
            what = f"id {claim.id} is also that of {seen[claim.id]}"
            errors.append(ClaimError(what, where=f"{file}:1", remedy="rename one"))
        if claim is not None:
            seen.setdefault(claim.id, file)
        cases = claim.cases() if claim else ()
        results.append(
            {
                "file": file,
                "id": claim.id if claim else None,
                "measurements": [case.id for case in cases],
                "without_number": [case.id for case in cases if is_without_number(case)],
                "warnings": tuple(dict.fromkeys(words for case in cases for words in stated_switches(case))),
                "errors": errors,
            }
        )
    return results


def _as_json(errors: list[AuditError]) -> list[dict[str, str | None]]:
    return [{"what": error.what, "where": error.where, "remedy": error.remedy} for error in errors]
