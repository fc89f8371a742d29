"""The noise: a keystream turned into normals.

AES-256 in counter mode, keyed by the operating system's entropy (certified) or by a seed (simulated). Both are
counter-based: noise is a function of key, step, tensor and coordinate alone, in whatever order it is asked for.

Box and Muller's transform makes two normals of a radius and an angle. The radius comes from 52 random bits and is
computed in float64 up to its root, whatever is asked for, since the tails are made there: no value exceeds 8.5 σ, which
happens once in 10¹⁷ draws. The angle is x or x + π, one bit says which, and x in (−π/2, π/2) comes from 31 bits (from 62
where float64 is asked for); both signs of a normal are exactly as likely. What float32 does to the rest stands in
docs/mathematics.md, "The noise in float32".
"""

import hashlib
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from torch import Tensor

from ..subspaces.norms import ORDINARY

Array: TypeAlias = np.ndarray[Any, Any]
DType: TypeAlias = np.dtype[Any]
CHUNK = 131_072  # normals at a time: the working set stays in the cache
PAIRS = CHUNK // 2  # a chunk's first half are cosines, its second half sines
MANTISSA, ONE = np.int64(0x000FFFFFFFFFFFFF), np.int64(0x3FF0000000000000)  # bits of a float64 in [1, 2)
QUARTER = math.pi / 2 / 2**31  # a 32-bit number's share of (−π/2, π/2)


class NoiseSource:
    """Standard normals by step and tensor. It never shows its key."""

    def __init__(self, key: bytes, *, simulated: bool) -> None:
        self._key, self.simulated = key, simulated
        self._boxes: dict[DType, list[_BoxMuller]] = {}  # at rest; a thread takes one and puts it back

    @classmethod
    def certified(cls, agree: Callable[[bytes], bytes] = bytes) -> "NoiseSource":
        """Keyed by the operating system; nobody, we included, can draw the same noise again.

        Several processes on one model must `agree` on one of their keys.
        """
        return cls(agree(os.urandom(32)), simulated=False)

    @classmethod
    def simulation(cls, seed: int) -> "NoiseSource":
        """Reproducible noise for research. It hides nothing from whoever knows the seed."""
        return cls(hashlib.sha256(b"expunge simulation %d" % seed).digest(), simulated=True)

    @property
    def description(self) -> str:
        """For the certificate; without any key or seed."""
        origin = "a seed, for simulation" if self.simulated else "the operating system's entropy"
        return f"AES-256-CTR keyed by {origin}; Box-Muller"

    def normal(
        self,
        size: int,
        *,
        step: int,
        tensor: int,
        like: Tensor,
        scale: float = 1.0,
        first: int = 0,
        room: Tensor | None = None,
    ) -> Tensor:
        """Normals number `first` to `first` + `size` − 1 of one step and tensor: independent, of deviation `scale`.

        They have `like`'s dtype and device, and lie at the beginning of `room` where that is given and fits them.
        """
        dtype = torch.float64 if like.dtype == torch.float64 else torch.float32
        fits = room is not None and room.device.type == "cpu" and room.dtype == dtype and len(room) >= size
        if room is None or not fits or like.is_cuda:
            room = torch.empty(size, dtype=dtype, pin_memory=like.is_cuda)
        result = room[:size]
        prefix = step.to_bytes(6, "big") + tensor.to_bytes(4, "big")
        chunks = range(first // CHUNK, -(-(first + size) // CHUNK))
        workers = min(torch.get_num_threads(), len(chunks))
        if workers <= 1:
            self._fill(result.numpy(), prefix, first, chunks, scale)
        else:  # a chunk is too small for torch's own threads, so each of ours takes every workers-th
            with ThreadPoolExecutor(workers) as pool:
                jobs = [
                    pool.submit(self._fill, result.numpy(), prefix, first, chunks[w::workers], scale)
                    for w in range(workers)
                ]
                for job in jobs:
                    job.result()
        return result.to(like.device, like.dtype, non_blocking=True)

    def erase(self) -> None:
        """Leave nothing of the noise in the buffers that it was made in."""
        for box in chain.from_iterable(self._boxes.values()):
            box.erase()

    def _fill(self, result: Array, prefix: bytes, first: int, chunks: range, scale: float) -> None:
        """What `result` has of these chunks, each from its own place in the keystream."""
        boxes = self._boxes.setdefault(result.dtype, [])
        try:
            box = boxes.pop()
        except IndexError:
            box = _BoxMuller(result.dtype)
        for start in range(chunks.start * CHUNK, chunks.stop * CHUNK, chunks.step * CHUNK):
            skipped = max(0, first - start)  # only where others have the beginning of this chunk
            out = result[start + skipped - first : start + CHUNK - first]
            drawn = out if skipped == 0 else np.empty(skipped + len(out), out.dtype)
            self._draw(box, drawn, prefix, start, scale)
            if skipped:
                out[:] = drawn[skipped:]
                drawn.fill(0)
        boxes.append(box)

    def _draw(self, box: "_BoxMuller", out: Array, prefix: bytes, start: int, scale: float) -> None:
        pairs, word = min(len(out), PAIRS), start // 2  # the cipher counts words of 16 bytes, of two normals each
        for words, size in zip(box.words, box.sizes, strict=True):
            counter = prefix + word.to_bytes(6, "big")
            stream = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor()
            stream.update_into(box.zeros[: size * pairs], words)  # no more of them than needed
            word += size * PAIRS // 16
        if box.double or ORDINARY[0] < scale < ORDINARY[1]:
            box.transform(out, scale)
        else:  # float32 would not hold its square
            box.transform(out)
            np.multiply(out, scale, out=out)


class _BoxMuller:
    """Buffers for one chunk of float32 or float64: words → uniforms → normals, in place.

    By NumPy, whose functions take half of torch's time on a CPU in the same precision, and whose calls cost less.
    """

    def __init__(self, dtype: DType) -> None:
        self.double = dtype == np.float64
        self.sizes = (8, 4, 4) if self.double else (8, 4)  # bytes a pair, of radius and angle and where it is finer
        self.zeros = memoryview(bytes(8 * PAIRS))
        self.words = [memoryview(bytearray(size * PAIRS + 16)) for size in self.sizes]  # the cipher wants room for more
        self._bits, self._turns, *self._finer = (
            np.frombuffer(words, dtype=f"i{size}", count=PAIRS)
            for words, size in zip(self.words, self.sizes, strict=True)
        )
        self._square, self._angle = np.empty(PAIRS), np.empty(PAIRS, dtype)
        self._radius = self._square if self.double else np.empty(PAIRS, dtype)

    def transform(self, out: Array, scale: float = 1.0) -> None:
        """Fill `out` (at most a chunk): a radius √(−2 σ² log u) of random sign, times an angle's cosine and sine."""
        pairs = min(len(out), PAIRS)
        radius, angle, turns = self._radius[:pairs], self._angle[:pairs], self._turns[:pairs]
        self._logarithm(pairs, -2.0 * scale * scale, radius)
        np.sqrt(radius, out=radius)
        (self._turn_finely if self.double else self._turn)(radius, turns, angle)
        np.multiply(angle, angle.dtype.type(QUARTER), out=angle)
        for name, half in (("cos", out[:pairs]), ("sin", out[pairs:])):
            _apply(name, angle[: len(half)], half)
            np.multiply(half, radius[: len(half)], out=half)

    def _logarithm(self, pairs: int, factor: float, out: Array) -> None:
        """The factor times log u, with u = 2 − [1, 2) in (0, 1], so that it is finite; rounded to float32 last."""
        uniform = self._square[:pairs]
        as_bits = uniform.view(np.int64)
        np.bitwise_and(self._bits[:pairs], MANTISSA, out=as_bits)
        np.bitwise_or(as_bits, ONE, out=as_bits)
        np.subtract(2.0, uniform, out=uniform)
        np.multiply(np.log(uniform, out=uniform), factor, out=out, casting="same_kind")

    def _turn(self, radius: Array, turns: Array, angle: Array) -> None:
        """The last bit is the radius' sign. Without it all numbers are odd, and lie symmetrically about 0."""
        bits, sign = radius.view(np.int32), angle.view(np.int32)
        np.bitwise_or(bits, np.left_shift(turns, 31, out=sign), out=bits)
        np.copyto(angle, np.bitwise_or(turns, 1, out=turns), casting="unsafe")

    def _turn_finely(self, radius: Array, turns: Array, angle: Array) -> None:
        """The same, and other words say where between two odd numbers the angle lies."""
        (finer,) = self._finer
        np.copysign(radius, np.left_shift(turns, 31), out=radius)
        np.multiply(np.bitwise_or(finer[: len(turns)], 1), 2.0**-31, out=angle)
        np.add(angle, np.bitwise_or(turns, 1, out=turns), out=angle)

    def erase(self) -> None:
        """What is left of the last chunk."""
        for buffer in (self._bits, self._turns, *self._finer, self._square, self._angle, self._radius):
            buffer.fill(0)


def _apply(function: str, angles: Array, out: Array) -> None:
    """Cosine or sine by whoever is faster: NumPy in float32 (by half), torch in float64 (by two thirds)."""
    if out.dtype == np.float32:
        getattr(np, function)(angles, out=out)
    else:
        getattr(torch, function)(torch.from_numpy(angles), out=torch.from_numpy(out))
