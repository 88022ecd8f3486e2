#!/usr/bin/env python3
"""What `cutout replay --json` prints, as the .events files of tests/cases have it."""

import json
import sys

for text in sys.stdin:
    event = json.loads(text)
    if "summary" in event:
        for breaker in event["summary"]:
            print(f"admitted={breaker['admitted']} rejected={breaker['rejected']}")
    else:
        print(
            f"{event['at']:.3f} {event['from']} -> {event['to']} {event['cause']}"
            f" calls={event['calls']} errors={event['errors']} slow={event['slow']}"
        )
