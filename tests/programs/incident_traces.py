#!/usr/bin/env python3
"""The traces of rules/incidents.md, always the same: incident_traces.py DIRECTORY"""

import sys
from pathlib import Path

MS = 1000  # times are in microseconds


def line(at_us, destination, outcome, response_us):
    return f"{at_us // 1_000_000}.{at_us % 1_000_000 // 1000:03} {destination} {outcome} {response_us // MS}ms\n"


def strangled():
    """Five calls a second. Fifteen times in five minutes three of one second's five fail: 3 %. At 300 s the destination
    dies, at 330 s it is back."""
    destination = "tcp://10.20.0.5:8443"
    bunches = {20 * k + k * 7 % 17: [(0, 1, 2), (1, 2, 3), (2, 3, 4), (0, 2, 4), (1, 3, 4)][k % 5] for k in range(15)}
    for second in range(360):
        for call in range(5):
            at = (second * 1000 + call * 200) * MS
            if 300 <= second < 330:
                yield line(at, destination, "failure:refused", 1 * MS)
            elif call in bunches.get(second, ()):
                yield line(at, destination, "failure:reset", 40 * MS)
            else:
                yield line(at, destination, "success", 40 * MS)


def slow():
    """Per ten seconds 120 calls of which 10 are slow; 110 and 90; 105 and 95; 100 and 5."""
    for span, (calls, slow_ones) in enumerate([(120, 10), (110, 90), (105, 95), (100, 5)]):
        for call in range(calls):
            at = span * 10_000_000 + call * 10_000_000 // calls
            # Evenly spread: one more is slow whenever the share, times the calls so far, passes a whole number and a half.
            is_slow = (2 * (call + 1) * slow_ones + calls) // (2 * calls) > (2 * call * slow_ones + calls) // (2 * calls)
            yield line(at, "tcp://10.20.0.9:443", "success", (800 if is_slow else 80) * MS)


def batch():
    """30 November 2026, UTC, five calls a second around the interesting moments: a batch stalls the destination for two
    seconds at 02:00 and at 14:00; at 14:03 and at 18:30 it hangs for a minute, and whoever calls hangs with it."""
    midnight = 1_796_000_400 - 1_796_000_400 % 86_400
    halts = [(2 * 3600, 2), (14 * 3600, 2), (14 * 3600 + 180, 60), (18 * 3600 + 1800, 60)]
    spans = [(2 * 3600 - 30, 2 * 3600 + 30), (14 * 3600 - 30, 14 * 3600 + 270), (18 * 3600 + 1770, 18 * 3600 + 1920)]
    for begin, end in spans:
        for tick in range((end - begin) * 5):
            at = begin * 1000 + tick * 200  # milliseconds of the day
            wait = 0
            for start, length in halts:
                if start * 1000 <= at < (start + length) * 1000:
                    wait = (start + length) * 1000 - at
            yield line(midnight * 1_000_000 + at * MS, "tcp://10.20.0.7:5432", "success", (wait + 30) * MS)


def main():
    directory = Path(sys.argv[1])
    for name, calls in [("strangled", strangled), ("slow", slow), ("batch", batch)]:
        with open(directory / f"incident-{name}.trace", "w", encoding="ascii") as trace:
            trace.write("# cutout trace 1\n")
            for text in calls.__doc__.splitlines():
                trace.write(f"# {text.strip()}\n")
            trace.write("# start_s destination outcome response_time\n")
            trace.writelines(calls())


main()
