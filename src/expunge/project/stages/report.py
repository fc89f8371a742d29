"""Everything on one page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...accounting.checks import whole

if TYPE_CHECKING:
    from ..stage import Work

RESULTS, PAGE = "results.json", "report.html"


@dataclass(frozen=True)
class Report:
    """[report]. `accuracy_every`: steps between two looks at the test accuracy while unlearning; 0: none."""

    accuracy_every: int = 20

    def __post_init__(self) -> None:
        whole("accuracy_every", self.accuracy_every, least=0)


def report(work: "Work") -> str:
    """Leaves the results as one document, and the page made from them."""
    from ...report.page import write
    from ...report.results import load
    from ..results import gather

    work.write_json(RESULTS, gather(work))
    write(load(work.path(RESULTS)), work.path(PAGE))
    return str(work.path(PAGE))
