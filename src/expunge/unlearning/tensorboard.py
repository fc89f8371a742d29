"""A run's progress as TensorBoard scalars."""

from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .progress import Progress


class TensorBoardMeter:
    """`with TensorBoardMeter("runs/request-1") as meter: expunge.unlearn(..., progress=meter)`.

    Writes loss, gradient norm, clip and accuracy of every phase, whichever are known.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "TensorBoard is not installed. Install it: pip install 'expunge[tensorboard]'."
            ) from error
        self._writer: Any = SummaryWriter(str(folder))

    def __enter__(self) -> "TensorBoardMeter":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def __call__(self, progress: Progress) -> None:
        """Write what this step has."""
        for name in ("loss", "gradient_norm", "clip", "accuracy"):
            value = getattr(progress, name)
            if value is not None:
                self._writer.add_scalar(f"{progress.phase}/{name}", value, progress.step)
