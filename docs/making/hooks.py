"""What the site adds to the pages: stored figures, notebooks, the changelog, the help of every command, skeletons as
code, and mathematics that needs no script."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from forebear.cli import app

sys.path.append(str(Path(__file__).parent))
from notebooks import as_page, read

ROOT = Path(__file__).parents[2]
_FIGURES = "results/figures"
_SOURCE = re.compile(r"<!-- results/.*? -->", re.DOTALL)
_MATH = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', re.DOTALL)
_SKELETON = re.compile(r"<!-- skeleton: (?P<name>\w+) -->")


def on_files(files: Files, config: Any) -> Files:
    """Add the files that lie elsewhere, or are made now."""
    for figure in sorted((ROOT / _FIGURES).glob("*.png")):
        files.append(File.generated(config, f"{_FIGURES}/{figure.name}", abs_src_path=str(figure)))
    for notebook in sorted((ROOT / "docs" / "gallery").glob("*.ipynb")):
        page, shown = as_page(read(notebook), notebook.stem)
        files.append(File.generated(config, f"gallery/{notebook.stem}.md", content=page))
        for name, content in shown.items():
            files.append(File.generated(config, f"gallery/{name}", content=content))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("(docs/", "(")
    files.append(File.generated(config, "changelog.md", content=changes))
    files.append(File.generated(config, "reference/cli.md", content=command_line()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Pages link to figures where they lie in the repository; a skeleton that they link to is shown in place; the
    sources of numbers (`figures.py`), in which Markdown would find links, are left out; a notebook is its page."""
    if page.file.src_uri.startswith("gallery/"):
        markdown = markdown.replace(".ipynb)", ".md)")
    linked = markdown.replace(f"](../{_FIGURES}/", f"]({_FIGURES}/")
    return _SKELETON.sub(_skeleton, _SOURCE.sub("", linked))


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers set by themselves; in the repository they are LaTeX, which GitHub sets."""
    return _MATH.sub(lambda match: mathml(html.unescape(match[2])), content)


def mathml(formula: str) -> str:
    r"""What `pymdownx.arithmatex` has marked, `\(x\)` in a line and `\[x\]` on its own.

    >>> mathml(r"\(x\)").count("<mi>x</mi>"), 'display="block"' in mathml(r"\[x\]")
    (1, True)
    """
    formula = formula.strip()
    return convert(formula[2:-2].strip(), display="block" if formula.startswith(r"\[") else "inline")


def _skeleton(match: re.Match[str]) -> str:
    code = (ROOT / "docs" / "skeletons" / f"{match['name']}.py").read_text(encoding="utf-8")
    return f"```python\n{code.strip()}\n```"


def command_line() -> str:
    """A section for each command: what `--help` prints."""
    from typer import Context
    from typer.main import get_command
    from typer.testing import CliRunner

    runner = CliRunner()
    lines = [
        "# Command line",
        "",
        "What `forebear COMMAND --help` prints. `forebear --install-completion` teaches your",
    ]
    lines += ["shell the commands, options and names; it takes effect in the next terminal.", ""]
    group = get_command(app)
    for name in ["", *group.list_commands(Context(group))]:  # type: ignore[attr-defined]
        words = [name, "--help"] if name else ["--help"]
        told = runner.invoke(app, words, prog_name="forebear", terminal_width=86)
        assert told.exit_code == 0, told.output
        lines += [f"## {f'forebear {name}'.strip()}", "", "```text", told.output.strip(), "```", ""]
    lines += [
        "Exit status: 0 done; 1 a claim or check does not hold; 2 bad input, told in one line; 130 interrupted.",
        "",
    ]
    return "\n".join(lines)
