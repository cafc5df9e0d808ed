"""Hindi in matplotlib: the web font of the site, made readable for matplotlib."""

import tempfile
import warnings
from pathlib import Path

from fontTools.ttLib import TTFont
from matplotlib import font_manager, rcParams

WEB_FONT = Path(__file__).parents[1] / "_static" / "fonts" / "noto-sans-devanagari-devanagari-400-normal.woff"


def use_devanagari():
    """Let every plot of the page fall back on a Devanagari font, and let a missing glyph stop the build.

    A label with Hindi in it must not hold ``$`` mathematics: matplotlib would draw boxes.
    """
    font = TTFont(WEB_FONT)
    font.flavor = None  # matplotlib reads TrueType, not WOFF
    with tempfile.NamedTemporaryFile(suffix=".ttf", delete=False) as file:
        font.save(file)
    font_manager.fontManager.addfont(file.name)
    name = font_manager.FontProperties(fname=file.name).get_name()
    rcParams["font.family"] = ["DejaVu Sans", name]
    warnings.filterwarnings("error", message="Glyph .* missing from font")
