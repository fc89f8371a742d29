"""The formulas of docs/mathematics.md once more, at 60 digits and without any haste: what the tests believe."""

import math
import random

from mpmath import mp, mpf

from expunge.accounting import Block, Step

mp.dps = 60


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def off(got, true):
    """Relative error."""
    return float(abs(mpf(got) - true) / abs(true)) if true else abs(float(got))


def gaussian_delta(mu, epsilon):
    mu, epsilon = mpf(mu), mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def renyi_epsilon(mu, delta):
    mu = mpf(mu)
    return mu**2 / 2 + mu * mp.sqrt(-2 * mp.log(mpf(delta)))


def renyi_mu(epsilon, delta):
    a = -mp.log(mpf(delta))
    return mp.sqrt(2 * (a + mpf(epsilon))) - mp.sqrt(2 * a)


def rate(step):
    return mpf(step.step_size) * mpf(step.weight_decay)


def drift(step):
    return 2 * mpf(step.step_size) * mpf(step.clip)


def geometric(step, steps):
    """ρ^T, drift added by T steps, and S = Σρ^{2t}."""
    r = rate(step)
    if r == 0:
        return mpf(1), steps * drift(step), mpf(steps)
    log_decay = steps * mp.log1p(-r)
    return mp.exp(log_decay), drift(step) * -mp.expm1(log_decay) / r, -mp.expm1(2 * log_decay) / (r * (2 - r))


def constant_mu(gap, step, steps):
    decay, pushed, noise = geometric(step, steps)
    return (decay * mpf(gap) + pushed) / (mpf(step.sigma) * mp.sqrt(noise))


def points(gap, steps):
    """Clock W_t and ceiling U_t of mathematics.md section 2."""
    scale, clock, ceiling = mpf(1), mpf(0), mpf(gap)
    clocks, ceilings = [clock], [mpf(0)]
    for step in steps:
        scale *= 1 - rate(step)
        clock += (mpf(step.sigma) / scale) ** 2
        ceiling += drift(step) / scale
        clocks.append(clock)
        ceilings.append(ceiling)
    return clocks, ceilings


def schedule_mu(gap, steps):
    """Energy of the greatest convex minorant, by its definition: always go to the point of the least slope. O(T²)."""
    clocks, ceilings = points(gap, steps)
    w, u, energy = mpf(0), mpf(0), mpf(0)
    while w < clocks[-1]:
        slope, i = min(((ceilings[j] - u) / (clocks[j] - w), -j) for j in range(len(clocks)) if clocks[j] > w)
        energy += slope**2 * (clocks[-i] - w)
        w, u = clocks[-i], ceilings[-i]
    return mp.sqrt(energy)


def worst_split_mu(gap, runs):
    """The secular equation over constant blocks (step, T), solved by bisection; the hard case apart."""
    gap = mpf(gap)
    parts = [(u / (s.sigma * mp.sqrt(n)), w / (s.sigma * mp.sqrt(n))) for s, (u, w, n) in _sums(runs)]
    top = max(c for c, _ in parts) ** 2

    def split(excess):  # ν = top + excess
        return [c * b / (excess + (top - c * c)) if b else mpf(0) for c, b in parts]

    def energy(gaps):
        return sum((c * d + b) ** 2 for (c, b), d in zip(parts, gaps, strict=True))

    if all(c * c < top or b == 0 for c, b in parts):
        inner = split(mpf(0))
        rest = gap**2 - sum(d * d for d in inner)
        if rest >= 0:
            return mp.sqrt(energy(inner) + top * rest)
    high = mp.log(sum((c * b) ** 2 for c, b in parts)) / 2 - mp.log(gap)
    low = high - 2000
    for _ in range(120):
        middle = (low + high) / 2
        if sum(d * d for d in split(mp.exp(middle))) > gap**2:
            low = middle
        else:
            high = middle
    return mp.sqrt(energy(split(mp.exp(high))))


def _sums(runs):
    return [(step, geometric(step, steps)) for step, steps in runs]


def random_step(rng, *, noise=True):
    step_size = log_uniform(rng, 1e-3, 0.1)
    return Step(
        step_size, rng.choice([0.0, rng.uniform(0.0, 5.0)]), log_uniform(rng, 0.1, 10.0), noise * rng.uniform(0.1, 2.0)
    )


def random_schedule(seed, longest=9, noisy=0.6):
    """A schedule with noise-free steps, the last one noisy, and its gap."""
    rng = random.Random(seed)
    steps = [random_step(rng, noise=rng.random() < noisy) for _ in range(rng.randrange(longest))]
    return log_uniform(rng, 0.01, 10.0), Block((*steps, random_step(rng)))
