"""Is this proximity file about this model, this data and this kind of request? What it says of itself is compared."""

from collections.abc import Mapping, Sized
from typing import Any

from torch import nn

from ..errors import ProximityError


def refuse_other(
    document: Mapping[str, Any],
    model: nn.Module,
    *,
    dataset: Sized | None = None,
    deletion: Mapping[str, Any] | None = None,
    removed: int = 0,
) -> None:
    """Raise where a calibration was made for something else; a bare proximity says nothing of what it is about.

    `deletion` is the request's description, `removed` how many samples it means.
    """
    if "coupling" not in document or "pairs" not in document:
        return
    _refuse_model(document["pairs"], model)
    coupling = document["coupling"]
    if dataset is not None:
        _refuse_data(coupling, dataset)
    if deletion is not None:
        _refuse_request(coupling, deletion, removed)


def _refuse_model(pairs: list[Mapping[str, Any]], model: nn.Module) -> None:
    measured = next((set(pair["gap"]["per_tensor"]) for pair in pairs if pair.get("gap")), None)
    own = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    if measured is None or measured == own:
        return
    name = min(measured ^ own)
    where = "the calibration" if name in measured else "this model"
    raise ProximityError(f"the proximity was calibrated for another model: only {where} trains {name!r}. {_AGAIN}")


def _refuse_data(coupling: Mapping[str, Any], dataset: Sized) -> None:
    if coupling["dataset_size"] != len(dataset):
        sizes = f"{coupling['dataset_size']:,} samples, and the data set has {len(dataset):,}"
        raise ProximityError(f"the proximity was calibrated on {sizes}. {_AGAIN}")
    measured, own = coupling["dataset_sha256"], getattr(dataset, "sha256", None)
    if measured is not None and own is not None and measured != own:
        raise ProximityError(f"the proximity was calibrated on other data: {measured:.16}…, here {own:.16}…. {_AGAIN}")


def _refuse_request(coupling: Mapping[str, Any], deletion: Mapping[str, Any], removed: int) -> None:
    """A list of samples may be a draw of what was calibrated; a class, or another fraction, is not."""
    measured, most = coupling["deletion"], max(coupling["removed"])
    drawn = deletion["kind"] == "indices" != measured["kind"]
    if (drawn and removed > most) or (not drawn and dict(deletion) != dict(measured)):
        raise ProximityError(
            f"the proximity was calibrated for {_words(measured)} ({most:,} samples at most), and the request is "
            f"{_words(deletion)} ({removed:,}). {_AGAIN}"
        )


def _words(deletion: Mapping[str, Any]) -> str:
    shown = " ".join(str(value)[:16] for name, value in deletion.items() if name not in ("kind", "count"))
    return f"{deletion['kind']} {shown}".strip()


_AGAIN = "Calibrate for this one."
