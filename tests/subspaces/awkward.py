"""Shapes that break careless code, designs to try on them, and a block's matrix A_i written out in full."""

import torch

from expunge import Custom, FastRotation, HeadBody, LayerCycle, Permutation, RandomRotation, Whole

SHAPES = {
    name: torch.Size(shape)
    for name, shape in {
        "temperature": (),
        "embed.weight": (13, 17),
        "conv.weight": (6, 3, 3, 3),
        "conv.bias": (6,),
        "conv.none": (0,),
        "depthwise.weight": (8, 1, 3, 3),
        "norm.weight": (1,),
        "norm.none": (3, 0),
        "long.weight": (523,),
        "head.weight": (2, 3, 4),
        "head.bias": (1, 11),
    }.items()
}
ONE = {"only": torch.Size([1])}
SCALAR = {"only": torch.Size([])}


def orthogonal(n, seed=0):
    return torch.linalg.qr(torch.randn(n, n, generator=torch.Generator().manual_seed(seed)))[0]


def own_bases(shapes):
    """Two blocks, the last dimension cut near the middle (the second block goes without where there is but one)."""
    lengths = {name: shape[-1] if shape else 1 for name, shape in shapes.items()}
    return {name: [orthogonal(n)[:, : (n + 1) // 2], orthogonal(n)[:, (n + 1) // 2 :]] for name, n in lengths.items()}


ANY_SHAPE = [Whole(), *(kind(k) for kind in (RandomRotation, FastRotation, Permutation) for k in (1, 3, 64))]
DESIGNS = [
    *ANY_SHAPE,
    LayerCycle(1),
    LayerCycle(3),
    LayerCycle(64),
    HeadBody(),
    HeadBody("conv"),
    Custom(groups=[["conv.*", "temperature"], ["embed.*", "head.*"], ["depthwise.*", "norm.*", "long.*"]]),
    Custom(bases=own_bases(SHAPES)),
]


def name_of(design):
    described = design.describe()
    how = described.get("k", described.get("head")) or ("bases" if "bases" in described else "")
    return f"{described['kind']}-{how}"


def tensors(shapes, seed=0):
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=random) for shape in shapes.values()]


def matrix(part, like):
    """A_i on one tensor, column by column, in float64."""
    columns = []
    for unit in torch.eye(part.size, dtype=like.dtype):
        column = torch.zeros_like(like)
        part.piece.add_(column, unit.clone())
        columns.append(column.reshape(-1).double())
    return torch.stack(columns, dim=1)


def matrices(design, shapes, dtype=torch.float32):
    """Per tensor, the matrices of all blocks that touch it."""
    partition, like = design.bind(shapes), [torch.zeros(shape, dtype=dtype) for shape in shapes.values()]
    found = [[] for _ in like]
    for block in range(len(partition.dimensions)):
        for part in partition.parts(block, like):
            found[part.tensor].append(matrix(part, like[part.tensor]))
    return found
