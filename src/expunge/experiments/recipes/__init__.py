"""The paper's tables and figures by name. A new one is an entry in its file's list."""

from ...errors import ConfigError
from . import cifar10, mnist
from .graphs import GRAPHS, Graph
from .panel import Line, Panel, Scale
from .recipe import Recipe
from .search import SEARCHES, Search
from .trajectories import TRAJECTORIES, Trajectory

Experiment = Recipe | Search | Trajectory | Graph
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*mnist.RECIPES, *cifar10.RECIPES, *SEARCHES, *TRAJECTORIES, *GRAPHS)
}


def find(name: str) -> Experiment:
    """By name."""
    if name not in EXPERIMENTS:
        raise ConfigError(f"there is no experiment {name!r}. See: expunge reproduce --list")
    return EXPERIMENTS[name]


__all__ = ["EXPERIMENTS", "Experiment", "Graph", "Line", "Panel", "Recipe", "Scale", "Search", "Trajectory", "find"]
