"""Workloads: data sets, deletion settings, the paper's models, and how they are trained.

    workload = open_workload("mnist-mlp", data_dir="data")
    goes = split(workload.dataset, RandomDeletion(0.10), seed=0)
    model = workload.train(workload.stream(), seed=0)

A new data set, model or recipe is one file and one line in `catalog.DATASETS`, `models.MODELS` or `recipes.RECIPES`.
"""

from .augment import Augment
from .catalog import DATASETS, load
from .dataset import Dataset
from .deletion import ClassDeletion, Deletion, GroupDeletion, IndexDeletion, RandomDeletion, index_sha256
from .evaluation import accuracy
from .features import Backbone, extract
from .first_stage import FirstStage, load_first_stage, refuse_permanent
from .heads import Constants, constants, linear_head, mlp_head, penalty
from .loader import Loader
from .loss import TrainingLoss
from .models import MODELS, build
from .ready import Ready, Revocable, open_ready
from .recipes import READY, RECIPES, Recipe, ready_recipes, recipe
from .split import Split, split
from .stream import Stream
from .training import Step, steps, train
from .workload import Trajectory, Workload, open_workload

__all__ = [
    "DATASETS",
    "MODELS",
    "READY",
    "RECIPES",
    "Augment",
    "Backbone",
    "ClassDeletion",
    "Constants",
    "Dataset",
    "Deletion",
    "FirstStage",
    "GroupDeletion",
    "IndexDeletion",
    "Loader",
    "RandomDeletion",
    "Ready",
    "Recipe",
    "Revocable",
    "Split",
    "Step",
    "Stream",
    "TrainingLoss",
    "Trajectory",
    "Workload",
    "accuracy",
    "build",
    "constants",
    "extract",
    "index_sha256",
    "linear_head",
    "load",
    "load_first_stage",
    "mlp_head",
    "open_ready",
    "open_workload",
    "penalty",
    "ready_recipes",
    "recipe",
    "refuse_permanent",
    "split",
    "steps",
    "train",
]
