"""The command line: the composition root, where specs, engine and terminal views meet.

Owns options, output and exit codes, and no logic. Everything heavy is imported inside the command that needs it, so
that `dagrl --help` stays quick. Messages go to stderr, results to stdout; `--json` prints one JSON value.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from dagrl.errors import DagrlError, ExitCode, UsageError, UserError

app = typer.Typer(
    name="dagrl",
    help="Run many RL jobs interleaved on the same accelerators, with the same bits as alone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Specs = Annotated[list[Path], typer.Argument(help="Spec files: a job each, or a matrix of jobs.", metavar="SPEC")]
ClusterFile = Annotated[Path | None, typer.Option("--cluster", help="Cluster file; this machine if left out.")]
PolicyName = Annotated[str, typer.Option("--policy", help="list, fifo, lrs, round-robin, sequential, exclusive.")]
RunName = Annotated[
    str | None, typer.Argument(help="Run directory or its name; the newest if left out.", metavar="RUN")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]


def main() -> None:
    """Run the command line and end the process with one of `ExitCode`."""
    try:
        app()
    except UserError as error:
        _complain(str(error))
        sys.exit(ExitCode.BAD_USAGE)
    except DagrlError as error:
        _complain(str(error))
        sys.exit(ExitCode.JOB_FAILED)


def _complain(message: str) -> None:
    if "--json" in sys.argv:
        print(json.dumps({"error": message}))
    else:
        print(message, file=sys.stderr)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback form
    if wanted:
        from importlib.metadata import version

        print(f"dagrl {version('dagrl')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options before the command."""


@app.command()
def run(
    specs: Specs,
    cluster: ClusterFile = None,
    policy: PolicyName = "list",
    run_dir: Annotated[Path | None, typer.Option("--run-dir", help="A new directory; runs/<time> if left out.")] = None,
    as_json: Json = False,
) -> None:
    """Run jobs to their end, interleaved, with a live display."""
    from dagrl.cli.run import run_and_show

    raise typer.Exit(run_and_show(specs, cluster, policy, run_dir, as_json=as_json))


@app.command()
def plan(
    specs: Specs,
    cluster: ClusterFile = None,
    policy: PolicyName = "list",
    as_json: Json = False,
) -> None:
    """Show the schedule that a run would have; nothing runs."""
    from dagrl.cli.show import show_plan

    show_plan(specs, cluster, policy, as_json=as_json)


@app.command()
def simulate(
    workloads: Annotated[
        list[str],
        typer.Argument(help="Specs, workload files, recorded traces, or table6:pools-warm.", metavar="WORKLOAD..."),
    ],
    policies: Annotated[str, typer.Option("--policy", help="Names with commas between; all if left out.")] = "",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How often to draw what is random.")] = 1,
    cluster: ClusterFile = None,
    as_json: Json = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also write a picture of the last one.")] = None,
) -> None:
    """Play workloads in virtual time under several policies, and compare them with each other and the lower bound."""
    from dagrl.cli.simulate import compare_policies
    from dagrl.workload import open_sources

    wanted = [name.strip() for name in policies.split(",") if name.strip()]
    compare_policies(open_sources(workloads, cluster), wanted, seeds, svg, as_json=as_json)


@app.command()
def timeline(
    run_name: RunName = None,
    as_json: Json = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also write a picture to this file.")] = None,
) -> None:
    """Show what a run did: lanes, duty cycles, switches, slowdowns, and the sequential run beside it."""
    from dagrl.cli.show import show_run

    show_run(run_name, svg, as_json=as_json)


@app.command()
def digest(run_name: RunName = None, as_json: Json = False) -> None:
    """Print one SHA-256 per job, over all its state and metrics, and one per context."""
    from dagrl.cli.show import show_digests

    show_digests(run_name, as_json=as_json)


@app.command()
def explain(
    run_name: Annotated[str, typer.Argument(help="Run directory or its name, or last.", metavar="RUN")],
    task: Annotated[str, typer.Argument(help="A task as it is printed: gcd/3/train, gcd/start/init.actor.")],
) -> None:
    """Tell why a task ran when and where it did, or why it has not."""
    from dagrl.cli.show import show_explanation

    show_explanation(run_name, task)


@app.command()
def validate(specs: Specs, cluster: ClusterFile = None) -> None:
    """Check spec files: all faults at once, nothing runs."""
    from dagrl.cli.load import load

    jobs, _ = load(specs, cluster)
    for job in jobs:
        print(f"{job.name}: ok, {len(job.steps)} steps, {len(job.contexts)} contexts, {job.iterations} iterations")


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("job.yaml"),
) -> None:
    """Write a commented spec to start from."""
    from dagrl.spec import example_spec

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(example_spec())
    except FileExistsError:
        raise UsageError(f"{path} exists already; name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    print(f"wrote {path}; try: dagrl run {path}")


@app.command()
def demo(
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", help="A new directory for both runs; runs/demo-<time> if left out.")
    ] = None,
) -> None:
    """Run three real RL jobs interleaved, then one after the other, and compare."""
    from dagrl.cli.demo import run_demo

    raise typer.Exit(run_demo(run_dir))
