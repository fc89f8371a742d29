"""Runs a project and kills itself in the middle of a stage: kill_me.py FILE STAGE AFTER (calls of its progress)."""

import os
import signal
import sys
from dataclasses import replace
from functools import partial
from itertools import count

from expunge import api
from expunge.bars import Bars
from expunge.project import pipeline, settings

file, name, after = sys.argv[1], sys.argv[2], int(sys.argv[3])
api.unlearn = partial(api.unlearn, checkpoint_every=0.0)


def mortal(stage):
    def run(work):
        calls = count(1)

        class Deadly(Bars):
            def move(self, *_):
                if next(calls) > after:
                    os.kill(os.getpid(), signal.SIGKILL)

        work.bars = Deadly(quiet=True)
        stage.run(work)
        os.kill(os.getpid(), signal.SIGKILL)  # done, and not yet noted

    return replace(stage, run=run)


pipeline.STAGES = tuple(mortal(stage) if stage.name == name else stage for stage in pipeline.STAGES)
pipeline.run(settings.load(file), quiet=True)
