"""How far apart do trained and retrained models lie?"""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...accounting.checks import number, probability, whole

if TYPE_CHECKING:
    from ..stage import Work

PROXIMITY = "proximity.json"


@dataclass(frozen=True)
class Calibration:
    """[calibration]. Coupled pairs; or `proximity`, the file of a calibration that was made before.

    `every`: steps of a workload's training between two looks at the gap, for its trajectory; 0: none.
    """

    pairs: int = 10
    failure: float | None = None
    safety_factor: float = 1.0
    workers: int = 1
    threads: int = 1
    every: int = 0
    proximity: str | None = None

    def __post_init__(self) -> None:
        for name in ("pairs", "workers", "threads"):
            whole(name, getattr(self, name))
        whole("every", self.every, least=0)
        if self.failure is not None:
            probability("failure", self.failure)
        number("safety_factor", self.safety_factor, least=1.0)


def calibrate(work: "Work") -> str:
    """Leaves the proximity file."""
    settings = work.project.calibration
    if settings.proximity is not None:
        return _given(work, settings.proximity)
    from ... import api
    from ..coupled import CleanBatches, Training

    random = work.project.deletion.random is not None
    count = itertools.count(1)
    work.bars.move("pairs", 0, settings.pairs)
    found = api.calibrate(
        Training(work.project),
        work.materials.dataset,
        work.materials.deletion,
        pairs=settings.pairs,
        clean=work.project.clean.recipe(),
        design=work.project.reset.design(work.project),
        loss=work.materials.loss,
        loader=CleanBatches(work.project),
        public=work.project.model.public,
        # a random request shares the model's own training run; a fixed one needs other seeds than the model's
        seed=work.project.project.seed + (not random),
        failure=settings.failure,
        safety_factor=settings.safety_factor,
        folder=work.scratch,
        workers=settings.workers,
        threads=settings.threads,
        on_pair=lambda _: work.bars.move("pairs", next(count), settings.pairs),
    )
    found.save(work.path(PROXIMITY))
    return f"proximity {found.proximity.gap:.5g}, {found.proximity.source}"


def _given(work: "Work", name: str) -> str:
    """A calibration that was made before, if it was made for this."""
    from ... import calibration
    from ...accounting.ledger import parse, read_text

    content, materials = read_text(work.project.beside(name)), work.materials
    calibration.refuse_other(
        parse(content),
        materials.fresh(),
        dataset=materials.dataset,
        deletion=materials.deletion.describe(),
        removed=len(materials.split.forget),
    )
    work.write(PROXIMITY, content)
    return f"proximity of {name}"
