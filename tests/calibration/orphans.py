"""Starts two workers that would sleep for minutes, and is killed: orphans.py FOLDER. Each leaves its process id there."""

import os
import sys
import time
from pathlib import Path

from expunge.calibration.pool import run_all


def sleep(folder, number):
    (Path(folder) / f"{number}.pid").write_text(str(os.getpid()))
    time.sleep(300)


if __name__ == "__main__":
    list(run_all(sleep, sys.argv[1], [(0,), (1,)], workers=2, threads=1, ray=None))
