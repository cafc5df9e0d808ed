"""Take the time of stages: seconds, and seconds of CPU of this process.

In: names of stages. Out: two dicts. Touches nothing.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Stopwatch:
    """``spent`` and ``used`` map a stage to seconds, and to seconds of CPU; of one that comes again, they are added."""

    spent: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began, cpu = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.monotonic() - began
            self.used[name] = self.used.get(name, 0.0) + time.process_time() - cpu
