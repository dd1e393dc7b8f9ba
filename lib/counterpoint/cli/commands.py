"""The `counterpoint` command: reads its arguments, calls the library, prints what it returns."""

import json
import sys
from pathlib import Path

import click

import counterpoint
from counterpoint.cli.networks import bench, networks, simulate
from counterpoint.cli.work import find_workbook, grade, plain_errors, progress, reset


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(counterpoint.__version__)
def main() -> None:
    """A course and a library in parallel computing."""


main.add_command(grade)
main.add_command(progress)
main.add_command(reset)
main.add_command(bench)
main.add_command(simulate)
main.add_command(networks)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--no-browser", is_flag=True, help="Serve, and print the address to open.")
@click.option("--port", type=int, help="Serve on this port only; a free one otherwise.")
@click.option("--make-only", is_flag=True, help="Make the workbook and open nothing.")
def lab(folder: Path | None, no_browser: bool, port: int | None, make_only: bool) -> None:
    """Make or complete the workbook FOLDER, and open JupyterLab there.

    FOLDER is your own copy of the lessons and exercises: the workbook you are in, or else
    ./workbook. What you have there is never overwritten.
    """
    from counterpoint.cli.lab import open_lab
    from counterpoint.grading.workbook import make_workbook

    with plain_errors():
        report = make_workbook(folder or find_workbook() or Path("workbook"))
    click.echo(report)
    if not make_only:
        sys.exit(open_lab(report.folder, browser=not no_browser, port=port))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Say what this machine has, and what each gap means."""
    from counterpoint.cli.doctor import examine

    findings = examine()
    if as_json:
        click.echo(json.dumps([vars(finding) for finding in findings], indent=1))
    else:
        click.echo(f"counterpoint {counterpoint.__version__}")
        width = max(len(finding.what) for finding in findings)
        for finding in findings:
            click.echo(f"{finding.state:<6} {finding.what:<{width}}  {finding.found}")
            if finding.meaning:
                click.echo(f"{'':<6} {'':<{width}}  → {finding.meaning}")
    sys.exit(any(finding.state == "broken" for finding in findings))
