"""Nothing moves under a reader's eyes while a page arrives on a phone."""

from statistics import median

import pytest

from benchmarks.site import browser, measure_load, served
from tests.book.test_build import all_pages

pytestmark = pytest.mark.e2e


MOST = 0.01  # a hundredth of the window


def test_no_layout_shifts_by_more_than_a_hundredth(site, tmp_path):
    names = sorted(str(path.relative_to(site)) for path in all_pages(site))
    names.remove("index.html")  # it redirects at once
    # late resources still come round trips later, but at full bandwidth, so that the test need not wait as a reader would
    with served(site) as address, browser(tmp_path, down=-1, up=-1) as chromium:
        shifts = {name: measure_load(chromium, f"{address}/{name}").shift for name in names}
        for name in [name for name, shift in shifts.items() if shift > MOST]:  # a busy machine may delay one resource
            shifts[name] = median(measure_load(chromium, f"{address}/{name}").shift for _ in range(3))
    assert len(shifts) > 10
    assert {name: shift for name, shift in shifts.items() if shift > MOST} == {}
