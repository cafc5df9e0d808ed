"""How long does a reader on a phone with a slow connection wait, compared with the pages that Jupyter Book makes by default?

    python benchmarks/site.py
    python benchmarks/site.py --pages scoring softmax --ours _build/html
    python benchmarks/site.py --main-thread --ours _build/html --unit OLD/_build/html

Chromium opens both websites in turns, each page with an empty cache, at 375 x 740 pixels and at the speed of a slow mobile
connection, as DevTools emulates it. Printed as medians: the bytes of the first load, the time until the first formula can be
read (it is on the page, and so are its fonts), the time of the largest contentful paint, and the layout shift; then the
ratios. Pages are sent gzipped. The stock website has the same sources without this book's changes to the theme; MathJax,
which it would fetch from another host, is served with it, because no other host can be reached. Unless their folders are
given, both websites are built first, which runs all pages once.

With ``--main-thread``, every page is opened from a warm cache at full speed, in turns with the landing page of the website
``--unit``, by default ours. Printed as medians: the nodes of the page, and the CPU time of the main thread until it is idle, in
all and for scripts, layout and styles; then the ratio to the landing page.
"""

import argparse
import functools
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin

import yaml
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("intro", "scoring", "softmax", "capstone", "notation")
LANDING_PAGE, UNIT = "intro", "landing page"  # UNIT: the name of its row, which the others are compared with
LATENCY_MS, DOWNLOAD_BYTES, UPLOAD_BYTES = 150, 1.6e6 / 8, 0.75e6 / 8  # milliseconds; bytes a second
PHONE_SCREEN = {"width": 375, "height": 740, "deviceScaleFactor": 2, "mobile": True}
IDLE_SECONDS = 0.5  # seconds without a change, after which a page counts as complete
TIMEOUT_SECONDS = 90  # within which a page must be complete
SETTLE_SECONDS = 1  # after a page has loaded, within which its main thread becomes idle
PATIENCE_SECONDS = 120  # for the browser to respond: machines may be busy
MATHJAX = "mathjax@3.2.2"  # the series that Sphinx asks for by default
MATHJAX_FILE = "mathjax/node_modules/mathjax/es5/tex-mml-chtml.js"
COMPRESSED_SUFFIXES = {".html", ".css", ".js", ".json", ".svg"}
DIRECTIVES = ("chapters", "course_site", "quiz")  # without which pages cannot be built
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
REMEDY = "run `make browser`, or install Chromium and its driver (Debian: apt-get install chromium chromium-driver)."
CHROMIUM_OPTIONS = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync"]
CHROMIUM_OPTIONS += ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
if os.geteuid() == 0:
    CHROMIUM_OPTIONS.append("--no-sandbox")  # Chromium's own sandbox refuses root; these pages are ours

OBSERVER_SCRIPT = """
(() => {
  const seen = (window.measured = {formula: null, paint: null, shift: 0, changed: 0});
  const observe = (type, note) => new PerformanceObserver((list) => {
    list.getEntries().forEach(note);
    seen.changed = performance.now();
  }).observe({type, buffered: true});
  observe("largest-contentful-paint", (entry) => (seen.paint = entry.startTime));
  observe("layout-shift", (entry) => (seen.shift += entry.value));
  const readable = (formula) => [formula, ...formula.querySelectorAll("*")].every((part) =>
    ["", "::before"].every((pseudo) => {
      const {fontSize, fontFamily} = getComputedStyle(part, pseudo);
      return document.fonts.check(`${fontSize} ${fontFamily}`);
    }));
  const look = () => {
    const formula = document.querySelector(".katex-html, mjx-container");
    const painted = performance.getEntriesByName("first-contentful-paint").length;
    if (!painted || !formula?.getClientRects().length || !readable(formula)) requestAnimationFrame(look);
    else requestAnimationFrame(() => (seen.formula = seen.changed = performance.now()));
  };
  requestAnimationFrame(look);
})();
"""
# What was measured, and for how many milliseconds nothing has changed: -1 while the page is incomplete.
STATE_SCRIPT = """
const ready = measured.paint && document.readyState === "complete";
const typeset = measured.formula || !document.querySelector(".math");
return [measured, ready && typeset ? performance.now() - measured.changed : -1];
"""
NODES_SCRIPT = """
const walker = document.createTreeWalker(document);
let count = 1;
while (walker.nextNode()) count++;
return count;
"""


@dataclass(frozen=True)
class Load:
    """One load of a page: its bytes, times in milliseconds from the request, and the layout shift, which has no unit.

    ``formula`` is None if the page has none.
    """

    size: int
    formula: float | None
    paint: float
    shift: float


@dataclass(frozen=True)
class MainThread:
    """One load of a page: its nodes, and the milliseconds of CPU time that its main thread takes."""

    nodes: int
    task: float
    script: float
    layout: float
    style: float


class Handler(SimpleHTTPRequestHandler):
    """Serves a website as web hosts do: gzipped, over persistent connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        data = _gzip(path) if path.suffix in COMPRESSED_SUFFIXES else path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "max-age=600")
        if path.suffix in COMPRESSED_SUFFIXES:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@functools.cache
def _gzip(path):
    return gzip.compress(path.read_bytes(), 6)


def main():
    options = _options()
    with tempfile.TemporaryDirectory(prefix="site-") as name:
        lines = (compare_main_threads if options.main_thread else compare_waits)(options, Path(name))
    print("\n".join(lines))


def compare_waits(options, folder):
    """Return the lines to print about first loads of our pages and the stock website's; ``folder`` is for what is built."""
    ours, stock = options.ours or build(folder, "ours"), options.stock or build(folder, "stock")
    pages = options.pages or PAGES
    with served(ours) as our_address, served(stock) as stock_address, browser(folder / "profile") as phone:
        loads = {(page, site): [] for page in pages for site in ("ours", "stock")}
        for _ in range(options.rounds):
            for page in pages:
                for site, address in (("ours", our_address), ("stock", stock_address)):
                    loads[page, site].append(measure_load(phone, f"{address}/book/{page}.html"))
    return table({key: median_load(page_loads) for key, page_loads in loads.items()})


def compare_main_threads(options, folder):
    """Return the lines to print about the main threads of our pages; ``folder`` is for what is built."""
    ours = options.ours or build(folder, "ours")
    pages = options.pages or sorted(path.stem for path in (ours / "book").glob("*.html"))
    with served(ours) as address, served(options.unit or ours) as unit_address, chromium(folder / "profile") as phone:
        phone.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE_SCREEN)
        phone.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})  # time in which the thread runs
        urls = {UNIT: f"{unit_address}/book/{LANDING_PAGE}.html"}
        urls |= {page: f"{address}/book/{page}.html" for page in pages}
        loads = {name: [] for name in urls}
        for _ in range(1 + options.rounds):  # the first fills the cache
            for name, url in urls.items():
                loads[name].append(measure_main_thread(phone, url))
    return main_thread_table({name: median_load(page_loads[1:]) for name, page_loads in loads.items()})


def build(folder, kind):
    """Build the website, or the stock one if ``kind="stock"``, in ``folder``; return its path. Both share one run of the pages."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    config["execute"] |= {"execute_notebooks": "cache", "cache": str(folder / "cache")}
    sphinx = config["sphinx"]
    sphinx["local_extensions"] = {name: str(ROOT / path) for name, path in sphinx["local_extensions"].items()}
    if kind == "stock":
        changed = ("extensions", "html_theme_options", "html_context", "html_js_files", "html_math_renderer")
        sphinx["config"] = {name: value for name, value in sphinx["config"].items() if name not in changed}
        sphinx["config"]["mathjax_path"] = MATHJAX_FILE
        sphinx["config"]["html_static_path"] = [str(ROOT / "book" / "_static")]
        sphinx["extra_extensions"] = ["sphinx_exercise", "sphinxcontrib.bibtex"]
        sphinx["local_extensions"] = {name: sphinx["local_extensions"][name] for name in DIRECTIVES}
    path = folder / f"{kind}.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", ROOT, "--config", path, "--path-output", folder / kind, "--keep-going", "--quiet"]
    _run(command)
    site = folder / kind / "_build" / "html"
    if kind == "stock":
        prefix = site / "_static" / Path(MATHJAX_FILE).parts[0]
        _run(["npm", "install", "--prefix", prefix, "--no-audit", "--no-fund", "--loglevel=error", MATHJAX])
    return site


def _run(command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


@contextmanager
def served(folder):
    """Serve the website in ``folder`` on this machine; yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@contextmanager
def chromium(profile, *arguments, preferences=None):
    """Yield Chromium with its profile in the folder ``profile``; it logs the console messages and requests of pages."""
    program, driver = next(filter(None, map(shutil.which, PROGRAMS)), None), shutil.which("chromedriver")
    if not program or not driver:
        sys.exit(f"Chromium or its driver is not on this machine. Remedy: {REMEDY}")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", preferences or {})
    for argument in [*CHROMIUM_OPTIONS, *arguments, f"--user-data-dir={profile}"]:
        options.add_argument(argument)
    driven = webdriver.Chrome(options=options, service=Service(driver))
    try:
        driven.set_page_load_timeout(PATIENCE_SECONDS)
        driven.set_script_timeout(PATIENCE_SECONDS)
        yield driven
    finally:
        driven.quit()


@contextmanager
def browser(profile, latency=LATENCY_MS, down=DOWNLOAD_BYTES, up=UPLOAD_BYTES):
    """Yield Chromium with a phone's screen and connection: latency in milliseconds, bytes a second; no other host is reachable."""
    with chromium(profile, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") as phone:
        phone.execute_cdp_cmd("Network.enable", {})
        phone.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE_SCREEN)
        speed = {"offline": False, "latency": latency, "downloadThroughput": down, "uploadThroughput": up}
        phone.execute_cdp_cmd("Network.emulateNetworkConditions", speed)
        phone.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": OBSERVER_SCRIPT})
        yield phone


def measure_load(chromium, url):
    """Open a page for the first time; return a ``Load``.

    Raises
    ------
    TimeoutError
        If it does not finish loading, or has a formula that stays unreadable.
    """
    chromium.get("about:blank")
    chromium.execute_cdp_cmd("Network.clearBrowserCache", {})
    chromium.get_log("performance")
    chromium.get(url)
    began = time.monotonic()
    while True:
        state, still = chromium.execute_script(STATE_SCRIPT)
        if still > IDLE_SECONDS * 1000:
            break
        if time.monotonic() - began > TIMEOUT_SECONDS:
            raise TimeoutError(f"{url} is not complete after {TIMEOUT_SECONDS} s: {state}")
        time.sleep(0.1)
    messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    finished = [each["params"] for each in messages if each["method"] == "Network.loadingFinished"]
    size = sum(round(each["encodedDataLength"]) for each in finished)
    return Load(size, state["formula"], state["paint"], state["shift"])


def measure_main_thread(chromium, url):
    """Open a page in a process that has just shown an image of the same website; return a ``MainThread``."""
    chromium.get(urljoin(url, "../_static/favicon.svg"))
    chromium.execute_cdp_cmd("HeapProfiler.collectGarbage", {})  # of the page before
    chromium.get(url)
    time.sleep(SETTLE_SECONDS)
    metrics = chromium.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]  # since the page replaced the image
    seconds = {each["name"]: each["value"] for each in metrics}
    times = (1000 * seconds[f"{name}Duration"] for name in ("Task", "Script", "Layout", "RecalcStyle"))
    return MainThread(chromium.execute_script(NODES_SCRIPT), *times)


def median_load(loads):
    """Return a ``Load`` or ``MainThread``, as ``loads`` are, with the median of each field."""
    kind = type(loads[0])
    return kind(*(statistics.median(getattr(each, name) for each in loads) for name in kind.__dataclass_fields__))


def table(medians):
    """Yield the lines to print: ``medians`` by page and website, and the ratios of the stock website to ours."""
    yield f"{'page':12}{'website':9}{'kB':>7}{'formula s':>11}{'paint s':>9}{'shift':>8}"
    for page in dict.fromkeys(page for page, _ in medians):
        for site in ("ours", "stock"):
            m = medians[page, site]
            numbers = f"{m.size / 1000:7.0f}{m.formula / 1000:11.2f}{m.paint / 1000:9.2f}{m.shift:8.3f}"
            yield f"{page if site == 'ours' else '':12}{site:9}{numbers}"
        ours, stock = medians[page, "ours"], medians[page, "stock"]
        ratios = f"{stock.size / ours.size:6.1f}x{stock.formula / ours.formula:10.1f}x{stock.paint / ours.paint:8.1f}x"
        yield f"{'':12}{'ratio':9}{ratios}"


def main_thread_table(medians):
    """Yield the lines to print: ``medians`` by page, with their ratios to ``UNIT``."""
    yield f"{'page':32}{'nodes':>7}{'CPU ms':>8}{'script':>8}{'layout':>8}{'style':>7}{'ratio':>8}"
    for page, m in medians.items():
        times = f"{m.task:8.0f}{m.script:8.0f}{m.layout:8.0f}{m.style:7.0f}"
        yield f"{page:32}{m.nodes:7.0f}{times}{m.task / medians[UNIT].task:7.2f}x"


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--pages", nargs="+", help=f"names of pages: by default {', '.join(PAGES)}; with --main-thread, all"
    )
    parser.add_argument("--rounds", type=int, default=9, help="how often each page is opened on each website")
    parser.add_argument("--ours", type=Path, help="the folder of the website, if it is built")
    parser.add_argument("--stock", type=Path, help="the folder of the stock website, if it is built")
    parser.add_argument("--main-thread", action="store_true", help="measure the CPU time of the main thread instead")
    parser.add_argument("--unit", type=Path, help="the folder of a website whose landing page has the ratio 1")
    return parser.parse_args()


if __name__ == "__main__":
    main()
