"""What a model holds, and what becomes of it. Every number of the released state has a fate, or there is no run.

trainable parameter        noised, in exactly one block
BatchNorm statistics       reset, and estimated anew on retained data
recomputed buffer          set by the user's function on the noised weights
public                     declared never to have seen the data; must be unchanged at the end
anything else              refused, by name, with the ways out
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from ..errors import BufferError, ConfigError, CoverageError
from ..weights import local
from .loose import Loose, fingerprint, loose_tensors, of_class, own_ids

Recompute = Mapping[str, Callable[[nn.Module], Tensor]]
REGISTRIES = ("_parameters", "_buffers", "_modules")
HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@dataclass
class Inventory:
    """Everything a model holds, by fate."""

    trainable: dict[str, nn.Parameter] = field(default_factory=dict[str, nn.Parameter])
    norms: dict[str, _NormBase] = field(default_factory=dict[str, _NormBase])
    public: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    loose: dict[str, Loose] = field(default_factory=dict[str, Loose])
    public_norms: list[_NormBase] = field(default_factory=list[_NormBase])
    recompute: dict[str, tuple[Tensor, Callable[[nn.Module], Tensor]]] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, torch.Size]:
        """Of the trainable parameters, tied ones once."""
        return {name: parameter.shape for name, parameter in self.trainable.items()}

    def public_sha256(self) -> str:
        """A fingerprint of everything declared public."""
        return fingerprint({**self.public, **self.loose})

    def refuse_changes(self, now: "Inventory") -> None:
        """The model must still hold the same tensors in the same modules; values may differ."""
        for kind in ("trainable", "norms", "public", "recompute"):
            before, after = getattr(self, kind), getattr(now, kind)
            held = [name for name in {**before, **after} if _identity(before.get(name)) != _identity(after.get(name))]
            if held:
                raise CoverageError(f"{held[0]!r} appeared, vanished or was replaced during the run. No certificate.")

    @property
    def fates(self) -> dict[str, int]:
        """How many tensors met which fate."""
        return {
            "noised": len(self.trainable),
            "statistics estimated anew": len(self.norms),
            "recomputed": len(self.recompute),
            "public": len(self.public),
        }


def _identity(value: object) -> int:
    return id(value[0]) if isinstance(value, tuple) else id(value)


def take_inventory(model: nn.Module, *, public: Sequence[str] = (), recompute: Recompute | None = None) -> Inventory:
    """Sort a model's state by fate, or refuse. `public` are name patterns (`backbone.*`)."""
    if isinstance(public, str):
        raise ConfigError(f"public must be a list of name patterns; got {public!r}. Write [{public!r}].")
    inventory, recompute = Inventory(), dict(recompute or {})

    def declared(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in public)

    for name, parameter in model.named_parameters():
        refuse_unusual(name, parameter)
        if parameter.requires_grad:
            _refuse_half(name, parameter)
            inventory.trainable[name] = parameter
        elif declared(name):
            inventory.public[name] = parameter
        else:
            raise CoverageError(
                f"parameter {name!r} is frozen and would be released as it is. If it was never trained on your data, "
                f"declare it: public=[{name!r}]. If it was, unfreeze it: requires_grad_(True)."
            )
    for name, module, key, buffer in _buffers(model):
        if isinstance(module, _NormBase) and key in STATISTICS:
            if declared(name):
                inventory.public[name] = buffer
                inventory.public_norms.append(module)
            else:
                inventory.norms[name.rpartition(".")[0]] = module
        elif name in recompute:
            inventory.recompute[name] = (buffer, recompute.pop(name))
        elif declared(name):
            inventory.public[name] = buffer
        else:
            raise BufferError(
                f"buffer {name!r} {tuple(buffer.shape)} may carry what the model saw. If it never depends on data, "
                f"declare it: public=[{name!r}]; otherwise say how to compute it anew: "
                f"recompute={{{name!r}: function of the model}}."
            )
    if recompute:
        raise ConfigError(f"recompute names {next(iter(recompute))!r}, which is no buffer of the model.")
    _find_hidden(model, declared, inventory)
    if not inventory.trainable:
        raise CoverageError("the model has no trainable parameter, so there is nothing to unlearn.")
    return inventory


def refuse_unusual(name: str, parameter: Tensor) -> None:
    """What no noise can be added to, because it has no shape yet, is no real number, or shares memory with itself."""
    if isinstance(parameter, nn.parameter.UninitializedParameter):
        raise CoverageError(f"parameter {name!r} has no shape yet: run one batch through the model first.")
    if parameter.is_inference():
        raise CoverageError(
            f"parameter {name!r} was made in inference mode, so its changes go unseen. Make it outside."
        )
    if not parameter.is_floating_point() or parameter.layout != torch.strided:
        raise CoverageError(
            f"parameter {name!r} is {parameter.dtype}, {parameter.layout}: only dense real numbers work."
        )
    if any(stride == 0 and size > 1 for size, stride in zip(parameter.shape, parameter.stride(), strict=True)):
        raise CoverageError(f"parameter {name!r} is an expanded view: its numbers share memory. Clone it.")


def _refuse_half(name: str, parameter: Tensor) -> None:
    if parameter.dtype not in (torch.float32, torch.float64):
        raise CoverageError(
            f"parameter {name!r} is {parameter.dtype}: noise needs float32 at least. Convert with model.float() and use "
            "autocast=torch.bfloat16 for speed."
        )


def _buffers(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, Tensor]]:
    for prefix, module in model.named_modules():
        for key, buffer in module._buffers.items():
            if buffer is not None:
                yield f"{prefix}.{key}" if prefix else key, module, key, buffer


def _find_hidden(model: nn.Module, declared: Callable[[str], bool], inventory: Inventory) -> None:
    """State that no parameter or buffer shows: loose tensors and arrays, extra state, keys added by hooks."""
    own = own_ids(model)
    for name, values in _pockets(model).items():
        loose = list(loose_tensors(values, own))
        if loose and not declared(name):
            raise CoverageError(
                f"{name!r} holds a tensor that is neither parameter nor buffer, so nothing covers it. Register it, "
                f"delete it, or declare it: public=[{name!r}]. (torch.nn.utils.weight_norm leaves such a tensor; "
                "torch.nn.utils.parametrizations.weight_norm does not.)"
            )
        inventory.loose |= {f"{name} ({i})": tensor for i, tensor in enumerate(loose)}
    known: dict[str, Tensor] = dict(model.named_parameters(remove_duplicate=False))
    known |= {name: buffer for name, *_, buffer in _buffers(model)}
    for name, value in model.state_dict().items():
        if name not in known and not declared(name):
            raise CoverageError(f"state_dict has {name!r}, no parameter or buffer. Declare it if it is public.")
        if name in known and local(value.detach()).data_ptr() != local(known[name].detach()).data_ptr():
            raise CoverageError(
                f"state_dict gives another tensor as {name!r} than the model holds, so noise misses it."
            )
    _refuse_overlap(model)


def _pockets(model: nn.Module) -> dict[str, list[object]]:
    """Everything besides parameters and buffers that modules, their classes and their tensors hold, by name."""
    pockets: dict[str, list[object]] = {}
    kinds = {kind for module in model.modules() for kind in type(module).__mro__ if not _of_torch(kind)}

    def look(place: str, held: Mapping[str, object]) -> None:
        for key, value in held.items():
            pockets.setdefault(f"{place}.{key}" if place else key, []).append(value)

    for place, module in model.named_modules():
        look(place, {key: value for key, value in vars(module).items() if key not in REGISTRIES})
        for kind in kinds.intersection(type(module).__mro__):
            look(place, of_class(kind))
            kinds.remove(kind)  # once is enough
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        look(name, {**vars(tensor), **{hooks: getattr(tensor, hooks, None) for hooks in HOOKS}})
    return pockets


def _of_torch(kind: type) -> bool:
    return kind is object or kind.__module__.startswith("torch.")


def _refuse_overlap(model: nn.Module) -> None:
    """By address: two tensors may share memory without sharing a storage, or a type."""
    spans: dict[torch.device, list[tuple[int, int, str]]] = {}
    for name, entire in (*model.named_parameters(), *model.named_buffers()):
        tensor = local(entire.detach())
        if tensor.numel():
            extent = 1 + sum((int(n) - 1) * int(s) for n, s in zip(tensor.shape, tensor.stride(), strict=True))
            start = tensor.data_ptr()
            spans.setdefault(tensor.device, []).append((start, start + extent * tensor.element_size(), name))
    for group in spans.values():
        for (_, end, first), (start, _, second) in pairwise(sorted(group)):
            if start < end:
                raise CoverageError(
                    f"{first!r} and {second!r} share memory but are different tensors, so noise would be added twice. "
                    "Tie weights by assigning the same Parameter, or clone one."
                )
