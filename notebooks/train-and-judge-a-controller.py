# %% [markdown]
# # Train and judge a controller
#
# A learning sender decides once per monitor interval how to change its rate. This notebook trains a small network for this
# decision, and exports the network as a C header. It compares the header with BBRv3 and LEVEL by the criteria for all algorithms
# of this repository. The statistics that the policy sees and the arithmetic of its decisions are the same C code in training, in
# the simulator and in a kernel.

# %%
import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import fairpace as fp
from fairpace.gym import FEATURES, OBSERVATIONS, Draw, Policy, VectorEnv

SHORT = bool(os.environ.get("FAIRPACE_SHORT"))  # continuous integration runs a short version

# %% [markdown]
# ## The environment
#
# Two agents share a link. Rate, RTTs and buffer are drawn anew for each episode. An agent gets these observations:

# %%
pl.DataFrame([{"column": of.name, "unit": of.unit, "what": of.meaning} for of in OBSERVATIONS])

# %% [markdown]
# The policy sees the last seven observations. Its action is an exponent a from -1 to 1: the pacing rate is multiplied by 2^a.

# %%
SCENARIO = """
title = "two learning flows"
duration = "10s"
[[link]]
rate = "20mbit"
buffer = "1bdp"
[[flow]]
name = "a"
cc = "agent"
rtt = "30ms"
[[flow]]
name = "b"
cc = "agent"
rtt = "30ms"
start = "2s"
"""
DRAWS = {
    "link.rate": Draw("5mbit", "50mbit", logarithmic=True),
    "flow.a.rtt": Draw("10ms", "80ms", logarithmic=True),
    "flow.b.rtt": Draw("10ms", "80ms", logarithmic=True),
    "link.buffer": Draw("0.5bdp", "4bdp", logarithmic=True),
}
INTERVAL_US = 50_000

# %% [markdown]
# The reward of each agent in each interval is the logarithm of its goodput, less its queueing delay in base RTTs, less ten times
# its loss. The sum of logarithms is largest if all agents have the same goodput. This makes the rates fair, although no term of
# the reward is about fairness.
#
# ## Training
#
# The training uses evolution strategies (Salimans et al., 2017). 128 variants of the parameters, in pairs of opposites, each run
# the same four scenarios. The parameters then move towards the better variants. The method needs no gradient, so the network can
# have the integers that it will have in C. All variants are one batch of environments.

# %%
GENERATIONS, PAIRS, PATHS = (2, 4, 2) if SHORT else (250, 64, 4)
SIGMA, STEP, DECAY = 0.05, 0.05, 0.002
VARIANTS = 2 * PAIRS
INTERVALS = 200  # of an episode: 10 s

env = VectorEnv(SCENARIO, count=VARIANTS * PATHS, draws=DRAWS, interval_us=INTERVAL_US)


def fitness(variants, seed):
    """The mean reward of each variant, over both flows, all paths and all intervals."""
    policy = Policy(variants)
    observations, _ = env.reset(seed=[seed + path for _ in range(VARIANTS) for path in range(PATHS)])
    total, over = np.zeros(VARIANTS), np.zeros(1, bool)
    while not over.all():
        seen = observations.reshape(VARIANTS, 2 * PATHS, -1)
        observations, rewards, _, over, _ = env.step(policy.act(seen).reshape(-1, 1))
        total += np.clip(rewards, -8, 8).reshape(VARIANTS, -1).mean(1)
    return total / INTERVALS


random = np.random.default_rng(1)
parameters = random.normal(0, 0.3, Policy.SIZE)
momentum, variance = np.zeros(Policy.SIZE), np.zeros(Policy.SIZE)
history, begun = [], time.monotonic()
for generation in range(GENERATIONS):
    noise = random.normal(0, 1, (PAIRS, Policy.SIZE))
    noise = np.concatenate([noise, -noise])
    rewards = fitness(parameters + SIGMA * noise, seed=1000 * generation)
    ranks = rewards.argsort().argsort() / (VARIANTS - 1) - 0.5
    gradient = (ranks[:, None] * noise).mean(0) / SIGMA
    # Adam (Kingma and Ba, 2015), which takes steps of one size in all directions; smaller ones towards the end, so that
    # the last few generations do not decide
    step = STEP * (1 - generation / GENERATIONS)
    momentum = 0.9 * momentum + 0.1 * gradient
    variance = 0.99 * variance + 0.01 * gradient**2
    towards = momentum / (1 - 0.9 ** (generation + 1)) / (np.sqrt(variance / (1 - 0.99 ** (generation + 1))) + 1e-8)
    parameters = np.clip((parameters + step * towards) * (1 - DECAY), -8, 8)
    history.append(rewards.mean())
took_s = time.monotonic() - begun
f"{GENERATIONS} generations, {GENERATIONS * VARIANTS * PATHS * INTERVALS / 1e6:.1f} million steps, {took_s:.0f} s"

# %%
figure, axis = plt.subplots(figsize=(8, 3))
axis.plot(history)
axis.set(xlabel="generation", ylabel="mean reward", title="paths differ between generations, so the curve is rough")
figure.tight_layout()

# %% [markdown]
# ## What it does
#
# Two flows of the policy run on a path in the middle of the ranges of its training:

# %%
policy = Policy(parameters)
one = VectorEnv(SCENARIO.replace('"10s"', '"20s"'), interval_us=INTERVAL_US)
observations, _ = one.reset(seed=1)
goodput, over = [], np.zeros(1, bool)
while not over.all():
    observations, _, _, over, info = one.step(policy.act(observations))
    goodput.append(info["goodput_mbps"])
figure, axis = plt.subplots(figsize=(8, 3))
axis.plot(np.arange(len(goodput)) * INTERVAL_US / 1e6, goodput, label=one.agents())
axis.set(xlabel="time, s", ylabel="goodput, Mbit/s")
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## The same in C
#
# `export` writes an algorithm: one header with the network's weights. The next cell compiles the header. From here on the algorithm
# is used by its name, like any other algorithm. `fairpace load ./learned.h` loads it into a kernel.

# %%
header = Path("learned.h").absolute()
policy.export(header, interval_us=INTERVAL_US, about="A policy trained by the notebook train-and-judge-a-controller")
learned = fp.load_algorithm(header)
on_known_path = fp.compare(
    [learned, "bbr3", "level"], rate="20mbit", buffer="2bdp", rtt=["10ms", "50ms"], duration="10s" if SHORT else "40s", warmup="6s"
)
pl.DataFrame(
    {
        "algorithm": list(on_known_path),
        "10 ms flow, Mbit/s": [result.summary["flows"][0]["goodput_mbps"] for result in on_known_path.values()],
        "50 ms flow, Mbit/s": [result.summary["flows"][1]["goodput_mbps"] for result in on_known_path.values()],
        "Jain": [result.jain for result in on_known_path.values()],
        "queue, ms": [result.summary["links"][0]["queue_delay_mean_ms"] for result in on_known_path.values()],
    }
)

# %% [markdown]
# ## Judged as the others are
#
# The training had two flows of the policy, 5 to 50 Mbit/s and 10 to 80 ms. The criteria of RFC 9743 also have short flows, CUBIC
# beside the policy, crowds, loss and other rates. The results show what a learned controller has not learned.

# %%
judged = fp.evaluate(
    learned, beside=["bbr3", "level"], quick=True, quiet=True, criterion=["5.1.1a"] if SHORT else []
)
cases = judged.cases.to_polars()
cases.select("criterion", "cc", "case", "holds", "miss", "jain", "queue_ms").head(3)

# %%
print(judged.text())
