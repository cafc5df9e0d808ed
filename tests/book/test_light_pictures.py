"""The extension that sends pictures as WebP: no pixel changes, and each is where its page looks for it."""

import re
from base64 import b64encode
from io import BytesIO

import nbformat
import numpy as np
from PIL import Image

from tests.book.small_site import build_site, write_site

CONF = """
extensions = ["myst_nb", "light_pictures"]
nb_execution_mode = "off"
"""


def test_a_picture_that_a_cell_drew_has_its_pixels_in_fewer_bytes(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    drawn = BytesIO()
    Image.fromarray(pixels).save(drawn, "PNG")
    cell = nbformat.v4.new_code_cell("draw()", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("display_data", data={"image/png": b64encode(drawn.getvalue()).decode()})]
    python = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    notebook = nbformat.writes(nbformat.v4.new_notebook(cells=[cell], metadata=python))
    write_site(tmp_path, CONF, {"index.ipynb": notebook})
    for _ in range(2):  # the second time nothing has changed
        site, _ = build_site(tmp_path)
        (name,) = re.findall(r'src="(_images/[^"]*)"', (site / "index.html").read_text(encoding="utf-8"))
        assert [path.name for path in (site / "_images").iterdir()] == [name.removeprefix("_images/")]
        with Image.open(site / name) as picture:
            assert picture.format == "WEBP"
            np.testing.assert_array_equal(np.asarray(picture.convert("RGB")), pixels)
