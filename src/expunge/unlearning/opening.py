"""What is settled before anything moves: misuse refused, the plan held against the model, a record begun."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from .. import weights
from ..accounting import Block, to_json
from ..errors import ConfigError, CoverageError
from ..lbfgs import is_one_layer
from ..subspaces import Design, KeepSpace, Partition
from ..subspaces.norms import norm
from ..subspaces.probe import decomposition_error
from ..weights import local
from .batches import Guard
from .coverage import Inventory
from .fine_tune import FineTune
from .group import Group
from .loose import loose_tensors, own_ids
from .noise import NoiseSource
from .options import Options
from .progress import Phase
from .record import Record
from .step import BELOW_CLIP

Recipes = Mapping[Phase, FineTune | None]


def refuse_misuse(loss: object, design: object, recipes: Recipes) -> None:
    """Arguments of the wrong kind."""
    if not callable(loss):
        raise ConfigError(f"loss must be a function of (model, batch); got {type(loss).__name__}.")
    if not isinstance(design, Design):
        raise ConfigError(f"design must be a block design, such as expunge.Permutation(4); got {design!r:.60}.")
    for name, recipe in recipes.items():
        if recipe is not None and not isinstance(recipe, FineTune):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"{name} must be an expunge.FineTune; got {recipe!r:.60}.")


def refuse_whitening(recipes: Recipes, parameters: Sequence[Tensor], group: Group) -> None:
    """Before anything moves: it is for one linear layer in one process, since each would have coordinates of its own."""
    if not any(recipe is not None and recipe.whiten for recipe in recipes.values()):
        return
    if group.size > 1 or group.sharded:
        raise ConfigError("whiten is for one process, which holds the whole model. Leave it out.")
    if not is_one_layer(parameters):
        shapes = [tuple(parameter.shape) for parameter in parameters]
        raise ConfigError(
            "whiten is for a model that is one linear layer, in float32 or float64; this one has trainable parameters of "
            f"shapes {shapes[:6]}. Leave it out."
        )


def refuse_memory(loss: object, recipes: Recipes, options: Options, model: nn.Module) -> list[str]:
    """What keeps tensors (a teacher, an anchor, the old weights) may lead the model back to the forgotten data.

    Gives the names of what does, and was declared public.
    """
    own, declared = own_ids(model), list[str]()
    given = {
        "loss": loss,
        "optimizer": [(recipe.optimizer, recipe.schedule) for recipe in recipes.values() if recipe is not None],
        "recompute": dict(options.recompute or {}),
    }
    for name, value in given.items():
        kept = next(loose_tensors(value, own), None)
        if kept is None:
            continue
        if not any(fnmatchcase(name, pattern) for pattern in options.public):
            raise CoverageError(
                f"the {name} holds tensors that are not the model's (one of shape {tuple(kept.shape)}; in a closure, a "
                "global, an attribute), which may remember the forgotten data. Make them part of the model, or, if they "
                f"never saw the data, declare them: public=[{name!r}]."
            )
        declared.append(name)
    return declared


def refuse_keeping(design: Design, group: Group) -> None:
    """A keep-space's bases and reference are those of whole tensors."""
    if isinstance(design, KeepSpace) and group.sharded:
        raise CoverageError(
            f"{type(design).__name__} resets a part of every tensor, which is not done on sharded ones. Use DDP, or "
            "another design."
        )


def fit(design: Design, inventory: Inventory, blocks: Sequence[Block] | None, group: Group) -> Partition:
    """The design on this model; the blocks, where there are any, must be the plan's."""
    partition = design.bind(inventory.shapes)
    if blocks is not None and partition.dimensions != [block.dimension for block in blocks]:
        raise ConfigError(
            f"the plan's blocks have dimensions {_few([block.dimension for block in blocks])}; this model with "
            f"{design} has {_few(partition.dimensions)}. Make the plan for this model and design."
        )
    return group.see(partition, inventory.trainable)


def new_record(
    model: nn.Module,
    inventory: Inventory,
    design: Design,
    partition: Partition,
    *,
    guard: Guard,
    noise: NoiseSource,
    recipes: Recipes,
    model_clip: float | None,
    declared: Sequence[str],
    group: Group,
) -> Record:
    """What is known of a run before its first step."""
    parameters = list(inventory.trainable.values())
    held = [local(parameter.detach()) for parameter in parameters]
    packed = None if guard.forget is None else b"".join(i.to_bytes(8, "little") for i in sorted(guard.forget))
    described = {name: recipe and recipe.describe() for name, recipe in recipes.items()}
    return Record(
        subspace={**design.describe(), "dimensions": partition.dimensions},
        input_sha256=weights.digest(model.state_dict()),
        generator=f"{noise.description}; {group.how}",
        simulated=noise.simulated,
        parameters=sum(parameter.numel() for parameter in parameters),
        forget_sha256=None if packed is None else hashlib.sha256(packed).hexdigest(),
        forget_count=None if guard.forget is None else len(guard.forget),
        retained_how=guard.how,
        decomposition_error=0.0 if partition.partial else decomposition_error(partition, held),
        fates=inventory.fates,
        public=sorted({*inventory.public, *inventory.loose, *declared}),
        epsilon_machine=max(torch.finfo(parameter.dtype).eps for parameter in parameters),
        model_clip=model_clip,
        clean=described["clean"],
        fine_tune=described["fine-tune"],
    )


def fingerprint(record: Record, blocks: Sequence[Block], options: Options, generator: str) -> str:
    """What must be the same for a checkpoint to be this run's; not how many processes there are."""
    parts = [
        to_json(blocks) if blocks else None,
        record.subspace,
        generator,
        record.input_sha256,
        record.forget_sha256,
        {"clean": record.clean, "fine-tune": record.fine_tune},
        record.model_clip,
        record.public,
        record.fates,
    ]
    parts += [options.simulate, options.accumulate, options.nonfinite, options.statistics_batches]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def clip_model(parameters: Sequence[Tensor], clip: float, partition: Partition) -> float:
    """Π_C₀ on the whole parameter vector; its norm afterwards."""
    with torch.no_grad():
        held = [local(parameter) for parameter in parameters]
        before = _total_norm(held, partition)
        if before > clip:
            for parameter in held:
                parameter.mul_(clip * BELOW_CLIP / before)
        return _total_norm(held, partition)


def _total_norm(tensors: Sequence[Tensor], partition: Partition) -> float:
    return math.sqrt(*partition.total([sum(norm(tensor).item() ** 2 for tensor in tensors)]))


def _few(numbers: Sequence[int | None]) -> str:
    shown = ", ".join(str(number) for number in numbers[:6])
    return f"[{shown}{', …' if len(numbers) > 6 else ''}] ({len(numbers)})"
