"""The options of the command line: types, help and placeholders, apart from the commands that take them."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

# Numbers arrive as text: what the parser says about a wrong one differs between its versions and does not quote it.
_Several = list[str] | None


def _column(text: str, metavar: str = "COLUMN") -> object:
    return Option(metavar=metavar, help=text, show_default=False)


Data = Annotated[str, Argument(metavar="DATA", help="A .csv or .parquet file.")]
Target = Annotated[_Several, _column("A target, or a pattern such as 'd*'; default: every column in turn.")]
Candidate = Annotated[_Several, _column("An input to choose from, a pattern, or TARGET=a,b for one target.")]
Keep = Annotated[_Several, _column("An input that is never removed, a pattern, or TARGET=a,b for one target.")]
Group = Annotated[_Several, _column("Inputs that are removed together, under a name.", "NAME=a,b")]
Exclude = Annotated[_Several, _column("A column to leave out, or a pattern.")]
Missing = Annotated[
    str,
    Option(metavar="model|drop|refuse", help="Gaps: part of the model, their rows left out, or an error."),
]
Weights = Annotated[str | None, _column("A column that says how much each row counts.")]
Regime = Annotated[
    str | None, _column("A column that tells campaigns, seasons or machines apart: which laws are the same in all?")
]
Screen = Annotated[str, Option(metavar="auto|N|all", help="Of very many candidates, how many are searched.")]
Sample = Annotated[str, Option(metavar="N|all", help="Rows that are read at most, drawn at random by the seed.")]
Periodic = Annotated[_Several, _column("An angle and its period, such as theta=6.2832.", "COLUMN=PERIOD")]
Kinds = Annotated[
    _Several,
    Option(
        "--kind",
        metavar="COLUMN=category|real",
        help="What a column is, where its cells look otherwise: grade=category.",
        show_default=False,
    ),
]
Rows = Annotated[
    str,
    Option(
        metavar="auto|independent|ordered|COLUMN",
        help="How rows hang together; a column tells batches, machines or episodes apart.",
    ),
]

Lags = Annotated[str | None, _column("Rows are trajectories: look N steps back.", "N")]
State = Annotated[_Several, _column("With --lags: a state.")]
Action = Annotated[_Several, _column("With --lags: an action.")]
Episode = Annotated[str | None, _column("With --lags: tells episodes apart.")]
Time = Annotated[
    str | None,
    _column(
        "Timestamps: order the rows, and are offered as inputs (hour, day, season, trend); with --lags, a clock."
    ),
]
Step = Annotated[str | None, _column("With --lags and --time: how long a lag is, such as '10 min'.", "TIME")]
Tolerance = Annotated[str | None, _column("With --step: how old a value may be; default: a step.", "TIME")]
Increments = Annotated[
    bool | None,
    Option("--increments/--next", help="With --lags: targets are changes, or next values.", show_default=False),
]

Rule = Annotated[str | None, _column("How to choose from the pruning path, such as nsr-jump.", "NAME")]
Preset = Annotated[str, Option(metavar="fast|paper", help="Settings: fast, or as published.")]
Sampler = Annotated[str, Option(metavar="flow|gaussian|mean", help="Model of the conditional law.")]
Joint = Annotated[bool, Option("--joint", help="One joint model of all targets.")]
Runs = Annotated[str, Option(metavar="N", help="Independent repeats, for frequencies.")]
Seed = Annotated[str, Option(metavar="S", help="Same data, seed and device: same result.")]
Jobs = Annotated[str, Option(metavar="N", help="Worker processes.")]
Settings = Annotated[
    _Several, Option("--set", metavar="NAME=VALUE", help="Any other setting, such as steps=2000.", show_default=False)
]

Out = Annotated[Path | None, _column("Run folder: everything is saved there as it is made.", "DIR")]
Resume = Annotated[bool, Option("--resume", help="Go on with the interrupted run in --out.")]
Figure = Annotated[Path | None, _column("Draw the result: .png, .svg or .pdf.", "FILE")]
Table = Annotated[Path | None, _column("Write the result as a table: .csv, .parquet or .json.", "FILE")]
CheckTarget = Annotated[_Several, _column("A target, or a pattern; default: every column in turn.")]
Json = Annotated[bool, Option("--json", help="Print one JSON document and nothing else.")]
Progress = Annotated[
    bool | None, Option("--progress/--no-progress", help="A bar (default: on a terminal).", show_default=False)
]

Run = Annotated[Path, Argument(metavar="RUN", help="A run folder, or a twin's.")]
Given = Annotated[Path, _column("Rows of inputs: a .csv or .parquet file.", "FILE")]
Draws = Annotated[str, Option("--n", metavar="N", help="Draws per row.")]
DrawsOut = Annotated[Path | None, _column("Write .csv or .parquet; default: csv on standard output.", "FILE")]
Beyond = Annotated[str, _column("Rows far beyond the data: warn, raise (refuse them) or ignore.", "WORD")]

ReportRun = Annotated[Path, Argument(metavar="RUN", help="A run folder.")]
ReportOut = Annotated[Path | None, _column("The page; default: report.html in the run folder.", "FILE")]
HeldOut = Annotated[Path | None, _column("Rows to judge the laws on, which no twin has seen.", "FILE")]
Laws = Annotated[bool, Option("--laws/--no-laws", help="With the laws of the targets, to play with.")]

Exported = Annotated[Path, Argument(metavar="OUT", help="The file: .fmu, .c or .onnx.")]
Fmi = Annotated[str | None, _column("Of a .fmu: version of the standard, 3.0 (the default) or 2.0.", "3.0|2.0")]
FmuStep = Annotated[str | None, _column("Of a .fmu that moves through time: what a step takes; default: 1.", "TIME")]
OneStep = Annotated[bool, Option("--one-step", help="Of a .fmu: a draw at each step, whatever the columns' names.")]
Binary = Annotated[
    bool, Option("--binary/--no-binary", help="Of a .fmu: compile it for this machine, or leave sources alone.")
]
TwinFolder = Annotated[Path, Argument(metavar="TWIN", help="A twin's folder, or a run folder.")]
NewRows = Annotated[
    Path, Option("--data", metavar="FILE", help="New rows: a .csv or .parquet file.", show_default=False)
]
ReferenceRows = Annotated[
    Path | None, _column("Rows on which the laws hold; default: those set aside for the twin.", "FILE")
]
Level = Annotated[str, Option(metavar="P", help="Chance of one false alarm, over all targets.")]
Margin = Annotated[str, Option(metavar="D", help="The smallest change worth an alarm, in deviations.")]
UpdateRows = Annotated[Path | None, _column("New rows: a .csv or .parquet file.", "FILE")]
OldRows = Annotated[
    Path | None, _column("Rows that the twin was fitted on; default: those of the run, or draws of the twin.", "FILE")
]
Since = Annotated[str | None, _column("The first row of the new law; default: as the monitor says.", "ROW")]
Rediscover = Annotated[
    bool, Option("--rediscover/--no-rediscover", help="Search for inputs where they no longer suffice.")
]
UpdateOut = Annotated[Path | None, _column("The twin's folder; default: the next version where it is.", "DIR")]
RollBack = Annotated[str | None, _column("Use this version from now on, and stop.", "N")]
Versions = Annotated[bool, Option("--versions", help="Show the versions and stop.")]
MonitorOut = Annotated[Path | None, _column("Write a page to look at: .html.", "FILE")]
Prometheus = Annotated[Path | None, _column("Write Prometheus' text format: .prom.", "FILE")]

DemoOut = Annotated[Path, Option("--out", metavar="DIR", help="Folder for the run and its figure.")]
Version = Annotated[bool, Option("--version", help="Print the version and stop.")]

Port = Annotated[
    str | None, Option(metavar="N", help="Where to listen; 0: any port that is free.", show_default=False)
]
Host = Annotated[
    str, Option(metavar="ADDRESS", help="The address to listen on; others than this reach it from other machines.")
]
AllowHost = Annotated[
    _Several,
    Option(metavar="NAME", help="A further name of this server, such as that of a proxy.", show_default=False),
]
Browser = Annotated[bool, Option(" /--no-browser", help="Do not open a browser.", show_default=False)]

ServedFolders = Annotated[
    list[str], Argument(metavar="TWIN...", help="Twins' folders or run folders; NAME=FOLDER gives one a name.")
]
TokenFile = Annotated[
    Path | None, _column("Holds the token, and is made if it is not there; default: a new one.", "FILE")
]
MaxRows = Annotated[str, Option(metavar="N", help="Rows of one request.")]
MaxDraws = Annotated[str, Option(metavar="N", help="Draws at each row.")]
MaxBytes = Annotated[str, Option(metavar="N", help="Bytes of one request.")]
Timeout = Annotated[str, Option(metavar="SECONDS", help="For one request, from its first byte to the last.")]
Queue = Annotated[str, Option(metavar="N", help="Requests taken in at a time; others are told to come again.")]
TogetherMost = Annotated[str, Option(metavar="N", help="Requests computed together; 1: each alone.")]
Reload = Annotated[bool, Option("--reload", help="Read a twin again when its folder holds another one.")]

StudioOut = Annotated[Path, Option("--out", metavar="DIR", help="Where uploads and runs are kept.")]
Folder = Annotated[
    list[Path] | None,
    Option(metavar="DIR", help="Files may be chosen from it; default: the folder you are in.", show_default=False),
]
