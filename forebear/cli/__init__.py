"""The command line: arguments in, the same calls a script would make, one line per error.

Whatever is slow to import is imported inside a command, so that `forebear --help` answers at once. Other packages add
commands of their own: see `forebear.cli.plugins`.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

import typer

from forebear.cli import arguments as opt
from forebear.cli import examples
from forebear.cli.compiled import keep_compiled
from forebear.cli.options import parse_whole
from forebear.cli.output import Failed, Interrupted, note
from forebear.cli.plugins import CommandGroup
from forebear.cli.usage import USAGE_ERROR, usage_line
from forebear.errors import InputError
from forebear.run import interrupt
from forebear.run.engine import Unfinished

INTERRUPTED = 130

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True, epilog=examples.FOREBEAR)
def _root(context: typer.Context, version: opt.Version = False) -> None:
    """Which few inputs shape the whole conditional law of each quantity in a table."""
    if version:
        import forebear

        print(f"forebear {forebear.__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit()


@app.command(epilog=examples.DEMO)
def demo(out: opt.DemoOut = Path("forebear-demo")) -> None:
    """Discover what shapes the measurements of a test rig, on data that ships with forebear."""
    from forebear.cli.demonstrating import run_demo

    run_demo(out)


@app.command(epilog=examples.CHECK)
def check(
    data: opt.Data,
    target: opt.CheckTarget = None,
    candidate: opt.Candidate = None,
    keep: opt.Keep = None,
    exclude: opt.Exclude = None,
    periodic: opt.Periodic = None,
    kind: opt.Kinds = None,
    rows: opt.Rows = "auto",
    time: opt.Time = None,
    missing: opt.Missing = "model",
    weights: opt.Weights = None,
    json: opt.Json = False,
) -> None:
    """Show what is in a table and what discover would do with each column, without training.

    Exit status 1 when something is in the way.
    """
    from forebear.cli.checking import run_check
    from forebear.cli.discovering import ColumnRoles

    columns = (target or (), candidate or (), keep or (), (), periodic or ())
    roles = ColumnRoles(data, *columns, exclude=exclude or (), kind=kind or ())
    run_check(roles, {"rows": rows, "time": time, "missing": missing, "weights": weights}, json)


@app.command(epilog=examples.DISCOVER)
def discover(
    data: opt.Data,
    target: opt.Target = None,
    candidate: opt.Candidate = None,
    keep: opt.Keep = None,
    group: opt.Group = None,
    periodic: opt.Periodic = None,
    kind: opt.Kinds = None,
    exclude: opt.Exclude = None,
    missing: opt.Missing = "model",
    weights: opt.Weights = None,
    sample: opt.Sample = "100000",
    screen: opt.Screen = "auto",
    rows: opt.Rows = "auto",
    regime: opt.Regime = None,
    lags: opt.Lags = None,
    state: opt.State = None,
    action: opt.Action = None,
    episode: opt.Episode = None,
    increments: opt.Increments = None,
    time: opt.Time = None,
    step: opt.Step = None,
    tolerance: opt.Tolerance = None,
    rule: opt.Rule = None,
    preset: opt.Preset = "fast",
    sampler: opt.Sampler = "flow",
    joint: opt.Joint = False,
    runs: opt.Runs = "1",
    seed: opt.Seed = "0",
    jobs: opt.Jobs = "1",
    settings: opt.Settings = None,
    out: opt.Out = None,
    resume: opt.Resume = False,
    figure: opt.Figure = None,
    table: opt.Table = None,
    json: opt.Json = False,
    progress: opt.Progress = None,
) -> None:
    """Find the few inputs that shape the law of each target.

    Options that name columns may be given several times.
    """
    from forebear.cli.discovering import ColumnRoles, OutputOptions, Trajectory, run_discover

    past = None if lags is None else parse_whole(lags, "--lags", 0)
    steps = (step, tolerance, missing, regime)
    trajectory = Trajectory(past, state or (), action or (), episode, time, increments, *steps)
    columns = (target or (), candidate or (), keep or (), group or (), periodic or ())
    roles = ColumnRoles(data, *columns, trajectory, exclude or (), kind or ())
    passed: dict[str, object] = {"preset": preset, "sampler": sampler, "joint": joint, "progress": progress}
    most = None if sample == "all" else parse_whole(sample, "--sample", 100)
    searched = None if screen == "all" else screen if screen == "auto" else parse_whole(screen, "--screen", 2)
    passed |= {"rows": rows, "missing": missing, "sample": most, "weights": weights, "screen": searched}
    passed["regime"] = regime
    for name, text, least in (("runs", runs, 1), ("seed", seed, 0), ("jobs", jobs, 1)):
        passed[name] = parse_whole(text, f"--{name}", least)
    if rule is not None:
        passed["rule"] = rule
    run_discover(roles, OutputOptions(out, resume, figure, table, json, passed, settings or ()))


@app.command(epilog=examples.SAMPLE)
def sample(
    run: opt.Run,
    given: opt.Given,
    n: opt.Draws = "100",
    seed: opt.Seed = "0",
    out: opt.DrawsOut = None,
    outside: opt.Beyond = "warn",
) -> None:
    """Draw from the twin of a run: its targets, given rows of their inputs.

    The twin is fitted the first time and kept in the run's folder.
    """
    from forebear.cli.sample import run_sample

    run_sample(run, given, parse_whole(n, "--n", 1), parse_whole(seed, "--seed", 0), out, outside)


@app.command(epilog=examples.REPORT)
def report(
    run: opt.ReportRun,
    out: opt.ReportOut = None,
    held_out: opt.HeldOut = None,
    laws: opt.Laws = True,
    seed: opt.Seed = "0",
) -> None:
    """Write the page of a run: answer, graph, evidence, and the laws to play with, in one HTML file.

    The laws come from the twin in the run's folder, or are fitted.
    """
    from forebear.cli.reporting import run_report

    run_report(run, out, held_out, laws, parse_whole(seed, "--seed", 0))


@app.command(epilog=examples.EXPORT)
def export(
    twin: opt.Run,
    out: opt.Exported,
    fmi: opt.Fmi = None,
    step: opt.FmuStep = None,
    one_step: opt.OneStep = False,
    binary: opt.Binary = True,
) -> None:
    """Write a twin for another program: .fmu for simulators, .c without any runtime, .onnx as a graph.

    A twin that is not distilled is distilled first: what is written is one pass through a small network.
    """
    from forebear.cli.exporting import run_export

    run_export(twin, out, fmi, step, one_step, binary)


@app.command(epilog=examples.MONITOR)
def monitor(
    twin: opt.TwinFolder,
    data: opt.NewRows,
    reference: opt.ReferenceRows = None,
    level: opt.Level = "0.05",
    margin: opt.Margin = "0.05",
    seed: opt.Seed = "0",
    out: opt.MonitorOut = None,
    prometheus: opt.Prometheus = None,
    json: opt.Json = False,
) -> None:
    """Do the laws of a twin still hold on new rows?

    Exit status 0 when they do, 1 when one changed.
    """
    from forebear.cli.monitoring import Told, run_monitor

    told = Told(json, out, prometheus)
    run_monitor(twin, data, reference, level, margin, parse_whole(seed, "--seed", 0), told)


@app.command(epilog=examples.SERVE)
def serve(
    twin: opt.ServedFolders,
    port: opt.Port = None,
    host: opt.Host = "127.0.0.1",
    allow_host: opt.AllowHost = None,
    token_file: opt.TokenFile = None,
    browser: opt.Browser = True,
    max_rows: opt.MaxRows = "1000",
    max_draws: opt.MaxDraws = "10000",
    max_bytes: opt.MaxBytes = "2000000",
    timeout: opt.Timeout = "30",
    queue: opt.Queue = "64",
    together: opt.TogetherMost = "32",
    reload: opt.Reload = False,
) -> None:
    """Put twins behind an address: draws, quantiles, means, intervals and more as JSON, and a page to try them.

    It answers this machine alone unless --host says otherwise, and whoever has the token that it prints. SIGHUP reads
    the twins again; Ctrl-C ends it, after what is under way.
    """
    from forebear.cli.serving import Place, run_serve

    limits = [("rows", max_rows), ("draws", max_draws), ("body", max_bytes), ("seconds", timeout)]
    limits += [("queue", queue), ("together", together)]
    run_serve(twin, Place(host, port, allow_host or (), token_file, browser), limits, reload)


@app.command(epilog=examples.UPDATE)
def update(
    twin: opt.TwinFolder,
    data: opt.UpdateRows = None,
    old: opt.OldRows = None,
    since: opt.Since = None,
    weights: opt.Weights = None,
    rediscover: opt.Rediscover = True,
    level: opt.Level = "0.05",
    seed: opt.Seed = "0",
    out: opt.UpdateOut = None,
    roll_back: opt.RollBack = None,
    versions: opt.Versions = False,
    json: opt.Json = False,
    progress: opt.Progress = None,
) -> None:
    """Let a twin learn on from new rows; it becomes the next version in its folder.

    Exit status 1 when the inputs of a law no longer suffice and were not found again.
    """
    from forebear.cli.updating import Learning, run_update, run_versions

    if roll_back is not None or versions:
        back = None if roll_back is None else parse_whole(roll_back, "--roll-back", 1)
        run_versions(twin, back, json)
        return
    first = None if since is None else parse_whole(since, "--since", 1)
    learning = Learning(data, old, first, weights, rediscover, level, parse_whole(seed, "--seed", 0), progress)
    run_update(twin, learning, out, json)


@app.command(epilog=examples.STUDIO)
def studio(
    out: opt.StudioOut = Path("forebear-studio"),
    folder: opt.Folder = None,
    port: opt.Port = None,
    host: opt.Host = "127.0.0.1",
    allow_host: opt.AllowHost = None,
    browser: opt.Browser = True,
) -> None:
    """The same without typing: from a file to a report on a page of this machine alone.

    Runs are kept in run folders, which the other commands take as well; Ctrl-C ends it.
    """
    from forebear.cli.studying import run_studio

    run_studio(out, folder or (), host, port, allow_host or (), browser)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the status is 0 done, 1 failed, 2 bad input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A column whose name the terminal cannot show is no reason to stop.
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None:
        interrupt.watch()
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *where, **details: note(str(message))
        if given[:1] != ["bench"]:  # there, compiling is part of what is measured
            keep_compiled()
        status = _status(given)
    if status == INTERRUPTED and arguments is None:
        # A computation may still be under way in another thread, and dies badly if Python is taken down around it.
        sys.stdout.flush()
        os._exit(status)
    return status


def _status(given: list[str]) -> int:
    try:
        status = typer.main.get_command(app).main(given, prog_name="forebear", standalone_mode=False)
    except (InputError, USAGE_ERROR) as error:
        note(str(error) if isinstance(error, InputError) else usage_line(error))
        return 2
    except OSError as error:  # a file that is in the way, too long a name, a disk that went away
        place = str(error.filename or "a file")
        note(f"{place[:200]}: {error.strerror or error}: check the place, or choose another")
        return 2
    except Failed as error:
        note(str(error))
        return 1
    except Unfinished as error:
        note(f"{error}: use fewer --jobs or more memory, and run again to go on")
        return 1
    except (Interrupted, typer.Abort, KeyboardInterrupt) as error:
        _note_interrupt(str(error))
        return INTERRUPTED
    if status == INTERRUPTED:  # Ctrl-C outside the long work; typer has taken the exception and left the status
        _note_interrupt()
    return status if isinstance(status, int) else 0


def _note_interrupt(line: str = "") -> None:
    note(line or interrupt.sentence())
