"""`python tests/with_torchvision.py train …`: the command line, where torchvision's compiled part does not fit torch.

torchvision and timm then ask for two operators (nms, qnms) that no backbone calls; declared, they can be imported. The
`vision` fixture does the same for tests. The product never does it.
"""

import sys
from importlib import import_module

import torch

_fragments: list[torch.library.Library] = []  # an operator exists as long as its library object does


def declare_operators() -> None:
    """Only where torchvision's own are missing."""
    try:
        import_module("torchvision")
    except RuntimeError:
        for name in ("nms", "qnms"):
            library = torch.library.Library("torchvision", "FRAGMENT")
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            _fragments.append(library)


if __name__ == "__main__":
    from expunge.cli.main import main

    declare_operators()
    sys.exit(main())
