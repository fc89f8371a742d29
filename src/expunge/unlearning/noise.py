"""The noise: a keystream turned into normals.

AES-256 in counter mode, keyed by the operating system's entropy (certified) or by a seed (simulated). Both are
counter-based: noise is a function of key, step, tensor and coordinate alone, in whatever order it is asked for.
A pair of 64-bit words becomes two normals by Box and Muller's transform in float64; 52 bits of each word are used, so
no value exceeds 8.5 σ, which happens once in 10¹⁷ draws.
"""

import hashlib
import math
import os
from concurrent.futures import ThreadPoolExecutor

import torch
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from torch import Tensor

CHUNK = 65_536  # normals at a time: the working set stays in the cache
MANTISSA, ONE = 0x000FFFFFFFFFFFFF, 0x3FF0000000000000  # bits of a float64 in [1, 2)


class NoiseSource:
    """Standard normals by step and tensor. It never shows its key."""

    def __init__(self, key: bytes, *, simulated: bool) -> None:
        self._key, self.simulated = key, simulated
        self._boxes: list[_BoxMuller] = []  # at rest, and erased; a thread takes one and puts it back

    @classmethod
    def certified(cls) -> "NoiseSource":
        """Keyed by the operating system; nobody, we included, can draw the same noise again."""
        return cls(os.urandom(32), simulated=False)

    @classmethod
    def simulation(cls, seed: int) -> "NoiseSource":
        """Reproducible noise for research. It hides nothing from whoever knows the seed."""
        return cls(hashlib.sha256(b"expunge simulation %d" % seed).digest(), simulated=True)

    @property
    def description(self) -> str:
        """For the certificate; without any key or seed."""
        origin = "a seed, for simulation" if self.simulated else "the operating system's entropy"
        return f"AES-256-CTR keyed by {origin}; Box-Muller in float64"

    def normal(self, size: int, *, step: int, tensor: int, like: Tensor, scale: float = 1.0) -> Tensor:
        """`size` independent normals of deviation `scale` for one step and tensor, of `like`'s dtype and device."""
        result = torch.empty(size, dtype=like.dtype)
        prefix = step.to_bytes(6, "big") + tensor.to_bytes(4, "big")
        workers = min(torch.get_num_threads(), -(-size // CHUNK))
        if workers <= 1:
            self._fill(result, prefix, 0, CHUNK, scale)
        else:  # a chunk is too small for torch's own threads, so each of ours takes every workers-th
            with ThreadPoolExecutor(workers) as pool:
                for job in [
                    pool.submit(self._fill, result, prefix, w * CHUNK, workers * CHUNK, scale) for w in range(workers)
                ]:
                    job.result()
        return result.to(like.device, non_blocking=True)

    def _fill(self, result: Tensor, prefix: bytes, first: int, stride: int, scale: float) -> None:
        """Chunks `first`, `first` + `stride`, …, each from its own place in the keystream."""
        try:
            box = self._boxes.pop()
        except IndexError:
            box = _BoxMuller()
        for start in range(first, len(result), stride):
            out = result[start : start + CHUNK]
            pairs = min(len(out), CHUNK // 2)
            for half in (0, 1):  # words for radii, and half a chunk later words for angles: no more of them than needed
                counter = prefix + (start // 2 + half * CHUNK // 4).to_bytes(6, "big")  # in 16-byte words, of two each
                stream = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor()
                stream.update_into(box.zeros[: 8 * pairs], box.words[8 * pairs * half :])
            box.transform(out, scale)
        box.erase(min(len(result), CHUNK // 2))
        self._boxes.append(box)


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
        radius.neg_().add_(2.0).log_().mul_(-2.0 * scale * scale).sqrt_()  # 2 − [1, 2) = (0, 1]: finite logarithms
        angle.mul_(2.0 * math.pi)
        torch.cos(angle, out=cosine)
        out[:pairs].copy_(cosine.mul_(radius))
        if len(out) > pairs:
            out[pairs:].copy_(angle.sin_().mul_(radius)[: len(out) - pairs])

    def erase(self, pairs: int) -> None:
        """Leave nothing of the noise in the buffers, of which so many pairs were used."""
        for buffer in (self._bits[: 2 * pairs], self._uniform[: 2 * pairs], self._cosine[:pairs]):
            buffer.zero_()
