"""The noise: a keystream turned into normals.

AES-256 in counter mode, keyed by the operating system's entropy (certified) or by a seed (simulated). Both are
counter-based: noise is a function of key, step, tensor and coordinate alone, in whatever order it is asked for.
A pair of 64-bit words becomes two normals by Box and Muller's transform in float64; 52 bits of each word are used, so
no value exceeds 8.5 σ, which happens once in 10¹⁷ draws.
"""

import hashlib
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from torch import Tensor

CHUNK = 65_536  # normals at a time: the working set stays in the cache
MANTISSA, ONE = 0x000FFFFFFFFFFFFF, 0x3FF0000000000000  # bits of a float64 in [1, 2)


class NoiseSource:
    """Standard normals by step and tensor. It never shows its key."""

    def __init__(self, key: bytes, *, simulated: bool) -> None:
        self._key, self.simulated = key, simulated
        self._boxes: list[_BoxMuller] = []  # at rest; a thread takes one and puts it back

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
        return f"AES-256-CTR keyed by {origin}; Box-Muller in float64"

    def normal(self, size: int, *, step: int, tensor: int, like: Tensor, scale: float = 1.0, first: int = 0) -> Tensor:
        """Normals number `first` to `first` + `size` − 1 of one step and tensor: independent, of deviation `scale`.

        They have `like`'s dtype and device.
        """
        result = torch.empty(size, dtype=like.dtype, pin_memory=like.is_cuda)
        prefix = step.to_bytes(6, "big") + tensor.to_bytes(4, "big")
        chunks = range(first // CHUNK, -(-(first + size) // CHUNK))
        workers = min(torch.get_num_threads(), len(chunks))
        if workers <= 1:
            self._fill(result, prefix, first, chunks, scale)
        else:  # a chunk is too small for torch's own threads, so each of ours takes every workers-th
            with ThreadPoolExecutor(workers) as pool:
                jobs = [
                    pool.submit(self._fill, result, prefix, first, chunks[w::workers], scale) for w in range(workers)
                ]
                for job in jobs:
                    job.result()
        return result.to(like.device, non_blocking=True)

    def erase(self) -> None:
        """Leave nothing of the noise in the buffers that it was made in."""
        for box in self._boxes:
            box.erase()

    def _fill(self, result: Tensor, prefix: bytes, first: int, chunks: range, scale: float) -> None:
        """What `result` has of these chunks, each from its own place in the keystream."""
        try:
            box = self._boxes.pop()
        except IndexError:
            box = _BoxMuller()
        for start in range(chunks.start * CHUNK, chunks.stop * CHUNK, chunks.step * CHUNK):
            skipped = max(0, first - start)  # only where others have the beginning of this chunk
            out = result[start + skipped - first : start + CHUNK - first]
            drawn = out if skipped == 0 else out.new_empty(skipped + len(out))
            self._draw(box, drawn, prefix, start, scale)
            if skipped:
                out.copy_(drawn[skipped:])
                drawn.zero_()
        self._boxes.append(box)

    def _draw(self, box: "_BoxMuller", out: Tensor, prefix: bytes, start: int, scale: float) -> None:
        pairs = min(len(out), CHUNK // 2)
        for half in (0, 1):  # words for radii, and half a chunk later words for angles: no more of them than needed
            counter = prefix + (start // 2 + half * CHUNK // 4).to_bytes(6, "big")  # in 16-byte words, of two each
            stream = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor()
            stream.update_into(box.zeros[: 8 * pairs], box.words[8 * pairs * half :])
        box.transform(out, scale)


class _BoxMuller:
    """Buffers for one chunk: words → uniforms → normals, in place."""

    def __init__(self) -> None:
        self.zeros = memoryview(bytes(4 * CHUNK))
        self.words = memoryview(bytearray(8 * CHUNK + 16))  # the cipher wants room for one more word
        self._bits = torch.frombuffer(self.words, dtype=torch.int64, count=CHUNK)
        self._uniform = torch.empty(CHUNK, dtype=torch.float64)
        self._cosine = torch.empty(CHUNK // 2, dtype=torch.float64)

    def transform(self, out: Tensor, scale: float = 1.0) -> None:
        """Fill `out` (at most a chunk): radius √(−2 σ² log u) times cos and sin of 2πv, a pair's half a chunk apart."""
        pairs = min(len(out), CHUNK // 2)
        uniform, cosine = self._uniform[: 2 * pairs], self._cosine[:pairs]
        as_bits = uniform.view(torch.int64)
        torch.bitwise_and(self._bits[: 2 * pairs], MANTISSA, out=as_bits)
        as_bits.bitwise_or_(ONE)
        radius, angle = uniform[:pairs], uniform[pairs:]
        radius.neg_().add_(2.0)  # 2 − [1, 2) = (0, 1]: finite logarithms
        _in_place(np.log, radius)
        radius.mul_(-2.0 * scale * scale)
        _in_place(np.sqrt, radius)
        angle.mul_(2.0 * math.pi)
        torch.cos(angle, out=cosine)
        out[:pairs].copy_(cosine.mul_(radius))
        if len(out) > pairs:
            out[pairs:].copy_(angle.sin_().mul_(radius)[: len(out) - pairs])

    def erase(self) -> None:
        """What is left of the last chunk."""
        for buffer in (self._bits, self._uniform, self._cosine):
            buffer.zero_()


def _in_place(function: Callable[..., object], values: Tensor) -> None:
    """With NumPy, whose logarithm and root take half of torch's time on a CPU, in the same precision."""
    array = values.numpy()
    function(array, out=array)
