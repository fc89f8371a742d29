"""What an experiment is, as data; nothing here runs.

A recipe is one table or figure of the paper. It has panels: one kind of trained model and one request (a budget, a class).
A panel has lines: one method with its settings, and what the paper reports for it.
"""

from dataclasses import dataclass, replace

from .panel import Panel, Scale
from .scales import reduced, shortened, words


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """`shows` names the columns of its table; `claim` is what the paper says that it shows.

    fewer       panels of laptop scale, by their titles, where it cannot run them all
    scaled      what a scale changed, in words; nothing where it changed nothing
    """

    name: str
    title: str
    source: str
    claim: str
    panels: tuple[Panel, ...]
    shows: tuple[str, ...] = ("lowest", "final", "noise_seconds", "seconds")
    seeds: int = 5
    note: str = ""
    fewer: tuple[str, ...] = ()
    scaled: str = ""

    def at(self, scale: Scale) -> "Recipe":
        """On digits in seconds; with fewer steps, on workloads that two cores cannot carry; or as the paper has it."""
        if scale == "smoke":
            return replace(self, seeds=1, panels=tuple(map(shortened, self.panels[:1])))
        if scale == "paper":
            return self
        chosen = [panel for panel in self.panels if not self.fewer or panel.title in self.fewer]
        panels = tuple(map(reduced, chosen))
        said = words(self.panels, panels)
        return replace(self, panels=panels, seeds=1 if said else self.seeds, scaled=said)
