"""The commands about a learner's work: grade, progress, reset."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--folder", "folders", type=FOLDER, multiple=True, help="A workbook; may be given often.")
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print comma-separated values.")
def grade(names: tuple[str, ...], folders: tuple[Path, ...], form: str | None) -> None:
    """Run the exercise notebooks and print their points.

    NAMES are topics (08, 08_all_reduce) or exercises (ring-all-reduce); all if there are none. Nothing in
    the workbook is changed. The exit status is 0 only if everything earned full points.
    """
    from counterpoint.grading.batch import grade as grade_folder

    rows: list[dict[str, Any]] = []
    for folder in folders or (need_workbook(),):
        with plain_errors():
            scores = grade_folder(folder, names or None)
        rows += [{"folder": str(folder), **score.to_json()} for score in scores]
        if form is None:
            if len(folders) > 1:
                click.echo(f"{folder}:")
            for score in scores:
                click.echo(f"{_points(score.points, score.max_points)}  {score.name}")
                if score.points < score.max_points:
                    click.echo(f"{'':>7}  {score.reason}")
            got, most = sum(s.points for s in scores), sum(s.max_points for s in scores)
            click.echo(f"{_points(got, most)}  in all")
    if form == "json":
        click.echo(json.dumps(rows, indent=1))
    elif form == "csv":
        text = io.StringIO()
        table = csv.DictWriter(text, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        click.echo(text.getvalue(), nl=False)
    sys.exit(any(row["points"] < row["max_points"] for row in rows))


@click.command()
@click.argument("folder", type=FOLDER, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def progress(folder: Path | None, as_json: bool) -> None:
    """Show the points, attempts and hints kept in the workbook FOLDER."""
    from counterpoint.grading.record import table

    rows = table(folder or need_workbook())
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    width = max(len(row["name"]) for row in rows)
    click.echo(f"{'topic':<16} {'exercise':<{width}}   points  attempts  hints")
    for row in rows:
        click.echo(
            f"{row['topic']:<16} {row['name']:<{width}}  {_points(row['points'], row['max_points'])}"
            f"  {row['attempts']:>8}  {row['hints']:>5}{'  passed' if row['passed'] else ''}"
        )
    got, most = (sum(row[key] for row in rows) for key in ("points", "max_points"))
    click.echo(f"{got} of {most} points")


@click.command()
@click.argument("name")
@click.option("--folder", type=FOLDER, help="The workbook, if we are not in it.")
def reset(name: str, folder: Path | None) -> None:
    """Put the exercise NAME back to its stub; a copy of your work is kept."""
    from counterpoint.grading.reset import reset as reset_exercise

    with plain_errors():
        click.echo(reset_exercise(name, folder or need_workbook()))


def find_workbook() -> Path | None:
    """The workbook that we are in, or that lies here under its usual name."""
    from counterpoint.grading import workbook

    usual = Path("workbook")
    return workbook.find_workbook() or (usual if (usual / workbook.MARK).is_dir() else None)


def need_workbook() -> Path:
    """The same; the command ends with a sentence if there is none."""
    workbook = find_workbook()
    if workbook is None:
        raise click.ClickException("there is no workbook here: go to yours, or make one (counterpoint lab)")
    return workbook


@contextmanager
def plain_errors() -> Iterator[None]:
    """A mistake in the arguments ends the command with its sentence, not with a traceback."""
    try:
        yield
    except (ValueError, FileNotFoundError, FileExistsError) as error:
        raise click.ClickException(str(error)) from error


def _points(points: float, most: float) -> str:
    """Right-aligned in seven columns; partial points may be halves."""
    return f"{points:g}/{most:g}".rjust(7)
