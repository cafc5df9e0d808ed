"""The website's measurements detect bytes, readable formulas and layout shifts. No time is asserted."""

import pytest
import yaml

from benchmarks import site
from benchmarks.site import Load, MainThread
from tests.book.small_site import build_site, write_site

pytestmark = [pytest.mark.suite("book"), pytest.mark.e2e]

CONF = """
extensions = ["myst_nb", "katex_prerender"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "katex"
"""
SHIFTS = """# A page that shifts

```{raw} html
<p id="late" style="height: 0; overflow: hidden"></p>
<p>This text goes down as soon as something arrives above it.</p>
<script>setTimeout(() => (document.getElementById("late").style.height = "300px"), 300)</script>
```
"""
PAGES = {"index.md": "# Formulas\n\nIt is $x^2$.\n\n```{toctree}\nshifts\n```\n", "shifts.md": SHIFTS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    write_site(folder, CONF, PAGES)
    return build_site(folder)[0]


@pytest.fixture(scope="module")
def loads(folder, tmp_path_factory):
    """Each page opened twice."""
    with (
        site.served(folder) as address,
        site.browser(tmp_path_factory.mktemp("profile"), latency=0, down=-1, up=-1) as chromium,
    ):
        return {
            name: [site.measure_load(chromium, f"{address}/{name}.html") for _ in range(2)]
            for name in ("index", "shifts")
        }


def test_a_page_is_as_heavy_each_time_it_is_opened_first(loads, folder):
    first, second = (load.size for load in loads["index"])
    font = folder / "_static" / "katex" / "fonts" / "KaTeX_Main-Regular.woff2"
    assert 0 < font.stat().st_size < first
    assert abs(first - second) < 0.02 * first


def test_a_formula_is_seen_where_there_is_one(loads):
    for load in loads["index"]:
        assert load.formula > 0
        assert load.paint > 0
    assert [load.formula for load in loads["shifts"]] == [None, None]


def test_a_shift_of_the_layout_is_seen(loads):
    assert [load.shift > 0.02 for load in loads["shifts"]] == [True, True]
    assert [load.shift < 0.02 for load in loads["index"]] == [True, True]


def test_a_median_is_of_each_number_for_itself():
    loads = [Load(1, 20, 300, 0.5), Load(2, 30, 100, 0.4), Load(3, 10, 200, 0.6)]
    assert site.median_load(loads) == Load(2, 20, 200, 0.5)
    loads = [MainThread(1, 20, 1, 2, 3), MainThread(3, 10, 2, 3, 1), MainThread(2, 30, 3, 1, 2)]
    assert site.median_load(loads) == MainThread(2, 20, 2, 2, 2)


def test_the_table_says_how_many_times_the_stock_website_has():
    measured = {
        ("scoring", "ours"): Load(250_000, 1000, 800, 0.001),
        ("scoring", "stock"): Load(1_000_000, 8000, 2000, 0.1),
    }
    head, *lines = site.table(measured)
    assert head.split() == ["page", "website", "kB", "formula", "s", "paint", "s", "shift"]
    assert [line.split() for line in lines] == [
        ["scoring", "ours", "250", "1.00", "0.80", "0.001"],
        ["stock", "1000", "8.00", "2.00", "0.100"],
        ["ratio", "4.0x", "8.0x", "2.5x"],
    ]


def test_the_main_thread_of_a_page_is_measured_for_each_load_by_itself(folder, tmp_path):
    with site.served(folder) as address, site.chromium(tmp_path) as chromium:
        chromium.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        loads = [site.measure_main_thread(chromium, f"{address}/index.html") for _ in range(2)]
    assert loads[0].nodes == loads[1].nodes > 100
    for load in loads:
        assert min(load.script, load.layout, load.style) > 0
        assert load.script + load.layout + load.style < load.task


def test_main_threads_are_compared_with_that_of_the_landing_page():
    head, *lines = site.main_thread_table(
        {site.UNIT: MainThread(100, 50, 1, 2, 3), "scoring": MainThread(200, 75, 4, 5, 6)}
    )
    assert head.split() == ["page", "nodes", "CPU", "ms", "script", "layout", "style", "ratio"]
    assert [line.split() for line in lines] == [
        ["landing", "page", "100", "50", "1", "2", "3", "1.00x"],
        ["scoring", "200", "75", "4", "5", "6", "1.50x"],
    ]


def test_the_stock_website_has_the_same_sources_and_nothing_of_what_the_book_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "_run", lambda command: None)
    config = {}
    for kind in ("ours", "stock"):
        site.build(tmp_path, kind)
        config[kind] = yaml.safe_load((tmp_path / f"{kind}.yml").read_text())
    stock = config["stock"]["sphinx"]
    assert config["ours"]["execute"] == config["stock"]["execute"]  # so that pages run once
    assert "lean_theme" in config["ours"]["sphinx"]["local_extensions"]
    assert set(stock["local_extensions"]) == set(site.DIRECTIVES) < set(config["ours"]["sphinx"]["local_extensions"])
    assert not {"extensions", "html_math_renderer", "html_theme_options"} & set(stock["config"])
