"""A bar for long runs: on standard error, only where that is a terminal, so that nothing of it is in a file."""

import sys
import time

WIDTH = 24
#: Seconds between two drawings.
INTERVAL = 0.1


class Progress:
    """How many of `total` steps are done."""

    def __init__(self, total: int, what: str, stream=None) -> None:
        self.total, self.what = total, what
        self.stream = sys.stderr if stream is None else stream
        self.is_shown = self.stream.isatty() and total > 1
        self.done = 0
        self.start = time.monotonic()
        self.last = 0.0

    def step(self, what: str = "") -> None:
        """One step is done; `what` is told behind the bar."""
        self.done += 1
        now = time.monotonic()
        if self.is_shown and (now - self.last > INTERVAL or self.done == self.total):
            self.last = now
            left = (now - self.start) / self.done * (self.total - self.done)
            full = WIDTH * self.done // max(1, self.total)
            bar = "#" * full + "-" * (WIDTH - full)
            self.stream.write(f"\r\x1b[K[{bar}] {self.done} of {self.total} {self.what}, {left:.0f} s left  {what}")
            self.stream.flush()

    def clear(self) -> None:
        """Takes the bar away, before something is printed and at the end."""
        if self.is_shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
