"""Environments for reinforcement learning, and policies that are exported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import fairpace as fp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import NormalizeObservation
from pettingzoo.test import parallel_api_test, parallel_seed_test

from conftest import counted_meanwhile
from fairpace.gym import FEATURES, INFO, OBSERVATIONS, Draw, Env, ParallelEnv, Policy, VectorEnv, action_columns

ALONE = """
title = "an agent alone"
duration = "3s"
[[link]]
rate = "12mbit"
buffer = "1bdp"
[[flow]]
name = "a"
cc = "agent"
rtt = "30ms"
"""
TWO = ALONE.replace('"3s"', '"8s"') + """
[[flow]]
name = "x"
cc = "bbr1"
rtt = "20ms"
[[flow]]
name = "b"
cc = "agent"
rtt = "70ms"
start = "1s"
"""
RUSH = ALONE.replace('"3s"', '"60s"').replace("12mbit", "40gbit") + """
start = "10500ms"
[[flow]]
cc = "bbr1"
rtt = "2ms"
start = "10500ms"
"""
"""Nothing in the first interval of 10 s, and fifty gigabytes in the second."""
RTT_MS = [column.name for column in OBSERVATIONS].index("rtt_ms")


def zeros(env: VectorEnv) -> np.ndarray:
    return np.zeros((env.num_envs, 1), np.float32)


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_and_pettingzoo_accept_the_environments() -> None:
    check_env(Env(ALONE), skip_render_check=True)
    parallel_api_test(ParallelEnv(TWO), num_cycles=120)
    parallel_seed_test(lambda: ParallelEnv(TWO))


def test_an_episode_ends_with_its_scenario_and_the_next_one_begins() -> None:
    env = VectorEnv(ALONE, count=3)
    first, _ = env.reset(seed=1)
    assert first.shape == (3, len(OBSERVATIONS)) and first in env.observation_space
    steps = 0
    truncated = np.zeros(3, bool)
    while not truncated.any():
        observations, rewards, terminated, truncated, info = env.step(zeros(env))
        steps += 1
        assert observations in env.observation_space and not terminated.any() and np.isfinite(rewards).all()
    assert truncated.all() and steps == 49  # 3 s in intervals of 60 ms, of which the reset ran one
    assert info["final_obs"].shape == observations.shape
    assert (observations == first).all(), "without loss or jitter an episode begins as the one before"


def test_results_depend_on_seeds_and_actions_alone() -> None:
    draws = {"link.rate": Draw("4mbit", "40mbit", logarithmic=True), "flow.rtt": ("10ms", "90ms")}

    def run(jobs: int) -> np.ndarray:
        env = VectorEnv(ALONE, count=20, draws=draws, jobs=jobs)
        seen = [env.reset(seed=7)[0]]
        seen += [env.step(np.full((20, 1), 0.1, np.float32))[0] for _ in range(60)]
        return np.array(seen)

    one = run(1)
    assert (one == run(2)).all()
    assert len(np.unique(one[5, :, RTT_MS])) == 20, "each environment has drawn its own path"


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (np.full((2, 1), np.nan), "exponent is NaN"),
        (np.full((2, 1), np.inf), "exponent is inf"),
        (np.full((2, 1), 1.5), "from -1 to 1"),
        (np.zeros((3, 1)), r"\(3, 1\); it must be \(2, 1\)"),
        (np.zeros(2), r"\(2,\); it must be"),
        (np.zeros((2, 1, 1)), "it must be"),
    ],
)
def test_an_action_that_is_wrong_is_an_error_and_nothing_happens(actions: np.ndarray, words: str) -> None:
    env, same = VectorEnv(ALONE, count=2), VectorEnv(ALONE, count=2)
    env.reset(seed=1), same.reset(seed=1)
    with pytest.raises(ValueError, match=words):
        env.step(actions)
    assert (env.step(zeros(env))[0] == same.step(zeros(same))[0]).all()


@pytest.mark.parametrize("actions", ["up", [["a"], ["b"]], None, object(), [[0.0], [0.0, 1.0]]])
def test_an_action_that_is_no_array_of_numbers_is_an_error(actions: object) -> None:
    env = VectorEnv(ALONE, count=2)
    env.reset(seed=1)
    with pytest.raises((TypeError, ValueError)):
        env.step(actions)  # type: ignore[arg-type]


def test_what_is_no_environment_is_refused_with_what_to_write() -> None:
    with pytest.raises(ValueError, match='cc = "agent"'):
        VectorEnv(ALONE.replace('"agent"', '"bbr1"'))
    with pytest.raises(ValueError, match="at least one"):
        VectorEnv(ALONE, count=0)
    with pytest.raises(ValueError, match="link.rate"):
        VectorEnv(ALONE, draws={"link.rate": ("4parsec", "5mbit")})
    with pytest.raises(ValueError, match="ParallelEnv"):
        Env(TWO)
    with pytest.raises(ValueError, match="seeds are 2 integers"):
        VectorEnv(ALONE, count=2).reset(seed=[1, -1])
    with pytest.raises(ValueError, match="shape"):
        broken = VectorEnv(ALONE, reward=lambda observations, info: np.zeros(9))
        broken.reset(seed=1)
        broken.step(zeros(broken))


def test_the_next_episode_can_begin_in_the_step_after_the_end() -> None:
    same = VectorEnv(TWO, count=2, draws={"link.rate": ("4mbit", "40mbit")})
    later = VectorEnv(
        TWO, count=2, draws={"link.rate": ("4mbit", "40mbit")}, autoreset_mode=AutoresetMode.NEXT_STEP
    )
    modes = [env.metadata["autoreset_mode"] for env in (same, later, VectorEnv(ALONE))]
    assert modes == [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]
    assert (same.reset(seed=1)[0] == later.reset(seed=1)[0]).all()
    ends = 0
    while ends < 3:
        observations, rewards, _, truncated, info = same.step(zeros(same))
        of_later = later.step(zeros(later))
        assert (of_later[3] == truncated).all() and (of_later[1] == rewards).all()
        if truncated.any():
            assert truncated.all(), "both last equally long"
            assert (of_later[0] == info["final_obs"]).all() and "final_obs" not in of_later[4]
            # any action: it is ignored
            of_later = later.step(zeros(later) - 1)
            assert not of_later[3].any() and (of_later[1] == 0).all()
            assert all((of_later[4][column.name] == 0).all() for column in INFO)
            assert later.scenario(1) == same.scenario(1)
            ends += 1
        assert (of_later[0] == observations).all()
    for wrong in (AutoresetMode.DISABLED, "NextStep"):
        with pytest.raises(ValueError, match="it is AutoresetMode.SAME_STEP or NEXT_STEP"):
            VectorEnv(ALONE, autoreset_mode=wrong)  # type: ignore[arg-type]


def test_gymnasiums_wrappers_of_observations_take_it() -> None:
    env = NormalizeObservation(VectorEnv(ALONE, count=3, autoreset_mode=AutoresetMode.NEXT_STEP))
    env.reset(seed=1)
    for _ in range(120):
        observations = env.step(np.zeros((3, 1), np.float32))[0]
    assert np.isfinite(observations).all() and np.abs(observations).mean() < 3


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_jobs_is_refused(jobs: object) -> None:
    with pytest.raises(ValueError, match="is no number of jobs; write a whole number from 1 on"):
        VectorEnv(ALONE, jobs=jobs)  # type: ignore[arg-type]


def test_more_jobs_than_environments_or_cores_need_no_more_threads() -> None:
    threads = len(os.listdir("/proc/self/task"))
    envs = [VectorEnv(ALONE, count=3, jobs=jobs) for jobs in (10**5, 10**30)]
    assert len(os.listdir("/proc/self/task")) <= threads + 6
    for env in envs:
        env.reset(seed=1)
        env.step(zeros(env))
        env.close()


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ({"link.rate": "1mbit"}, "link.rate has '1mbit'; a range is a Draw or a pair of texts"),
        ({"link.rate": (1, 2)}, r"link.rate has \(1, 2\); a range is"),
        ({"link.rate": ("1mbit", "2mbit", "3mbit")}, "a range is"),
        ({"link.rate": Draw(1, "2mbit")}, "a range is"),  # type: ignore[arg-type]
        ({3: ("1mbit", "2mbit")}, "key is a text, not int"),
        ([("link.rate", ("1mbit", "2mbit"))], "a dictionary of keys and ranges, not list"),
    ],
)
def test_draws_that_are_no_ranges_are_refused_with_what_to_write(draws: object, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        VectorEnv(ALONE, draws=draws)  # type: ignore[arg-type]


def test_a_list_has_scenarios_texts_or_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(ALONE)
    env = VectorEnv([fp.Scenario.load(path), ALONE, path, str(path)], count=2)
    assert env.reset(seed=1)[0].shape == (2, len(OBSERVATIONS))
    for wrong in ([ALONE, 3], [None], b"text"):
        with pytest.raises(TypeError, match="a scenario is a Scenario, a text, or a path, not"):
            VectorEnv(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scenario 2 of its list: 2 agents among 3 flows|scenario 1 of its list: 1 agents"):
        VectorEnv([ALONE, TWO])


@pytest.mark.parametrize("seed", [-1, 1.5, 2**63 - 1, 2**70, None, "1"])
def test_a_seed_that_is_none_is_refused_by_the_constructor_and_by_a_reset(seed: object) -> None:
    with pytest.raises(ValueError, match="seeds are 2 integers from 0 to"):
        VectorEnv(ALONE, count=2, seed=seed)  # type: ignore[arg-type]
    env = VectorEnv(ALONE, count=2)
    env.reset(seed=1)
    for wrong in ([seed] if seed is not None else []) + [[1, 1.5], [1, 2, 3], [1, 2**63], [1, "2"]]:
        with pytest.raises(ValueError, match="seeds are 2 integers from 0 to"):
            env.reset(seed=wrong)  # type: ignore[arg-type]
    env.step(zeros(env))


def test_an_environment_without_a_seed_among_others_starts_its_next_episode() -> None:
    env, same = VectorEnv(ALONE, count=3), VectorEnv(ALONE, count=3)

    def seeds(of: VectorEnv) -> list[int]:
        return [fp.Scenario.from_toml(of.scenario(index)).seed for index in range(3)]

    env.reset(seed=5), same.reset(seed=5)
    same.reset()
    env.reset(seed=[7, None, np.int64(9)])  # type: ignore[list-item]
    assert seeds(env) == [7, seeds(same)[1], 9]


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        # a BDP of 1.15 Mbit/s and 10 ms is less than a packet
        ({"link.rate": ("1.15mbit", "4mbit")}, "link.rate=1150kbit: .*at least 1514B"),
        ({"flow.count": ("1", "2")}, "with flow.count=[12]: [12] agents among"),
    ],
)
def test_a_range_with_a_wrong_end_is_refused_whatever_the_first_episodes_draw(draws: dict[str, tuple[str, str]], words: str) -> None:
    for seed in range(10):
        with pytest.raises(ValueError, match=words):
            VectorEnv(ALONE.replace("30ms", "10ms"), count=2, draws=draws, seed=seed)


@pytest.mark.parametrize("step", ["env.step(np.zeros((40, 1)))", "one.step(np.zeros(1))"])
def test_after_ctrl_c_in_a_step_environments_have_no_episode(
    python: Callable[[str], subprocess.Popen[str]], step: str
) -> None:
    program = f"""
import numpy as np
from fairpace.gym import Env, VectorEnv
RUSH = {RUSH!r}
env = VectorEnv(RUSH, 40, interval_us=10_000_000)
one = Env(RUSH, interval_us=10_000_000)
env.reset(), one.reset()
print("begins", flush=True)
try:
    {step}
except KeyboardInterrupt:
    print("ends")
try:
    {step}
except RuntimeError as error:
    print(error)
env.reset(), one.reset()
"""
    process = python(program)
    assert process.stdout is not None and process.stdout.readline() == "begins\n"
    # the step has begun, and would last for minutes
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output == "ends\nenvironment 0 has no episode; reset it first\n" and errors == ""


def test_other_threads_of_python_go_on_while_environments_are_made() -> None:
    assert counted_meanwhile(lambda: VectorEnv(ALONE, 5000)) >= 5


def test_a_reward_that_fails_in_the_last_interval_ends_the_episode() -> None:
    def reward(observations: np.ndarray, info: Mapping[str, np.ndarray]) -> np.ndarray:
        if "final_obs" in info:
            raise ZeroDivisionError
        return np.zeros(len(observations), np.float32)

    one, several = Env(ALONE, reward=reward), ParallelEnv(TWO, reward=reward)
    one.reset(seed=1), several.reset(seed=1)
    actions = {name: np.zeros(1, np.float32) for name in several.agents}
    for step in (lambda: one.step(np.zeros(1, np.float32)), lambda: several.step(actions)):
        with pytest.raises(ZeroDivisionError):
            for _ in range(1000):
                step()
        with pytest.raises(RuntimeError, match="the episode is over; reset it first"):
            step()
    assert several.agents == []
    one.reset(seed=1), several.reset(seed=1)
    # and an action that is wrong does not end one
    with pytest.raises(ValueError, match="from -1 to 1"):
        one.step(np.full(1, 2, np.float32))
    one.step(np.zeros(1, np.float32)), several.step(actions)


def test_an_environment_without_an_episode_or_closed_is_an_error() -> None:
    env = VectorEnv(ALONE)
    with pytest.raises(RuntimeError, match="reset it first"):
        env.step(zeros(env))
    env.reset(seed=1)
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.step(zeros(env))


def test_a_forked_process_says_that_it_has_no_threads() -> None:
    env = VectorEnv(ALONE, count=4)
    env.reset(seed=1)
    child = os.fork()
    if child == 0:  # no pytest in here
        try:
            env.step(zeros(env))
        except RuntimeError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_ground_truth_is_that_of_the_agents_flows() -> None:
    env = VectorEnv(TWO, count=2)
    env.reset(seed=1)
    assert env.agents() == ["a", "b"] and env.num_envs == 4
    for _ in range(30):
        *_, info = env.step(zeros(env))
    shares = info["share"].reshape(2, 2)
    assert (shares.sum(1) < 1).all(), "bbr1 has the rest"
    assert (info["goodput_mbps"] >= 0).all()


def test_a_population_decides_as_its_members() -> None:
    random = np.random.default_rng(1)
    parameters = random.normal(0, 1, (5, Policy.SIZE))
    observations = random.uniform(0, 8, (5, 3, len(OBSERVATIONS))).astype(np.float32)
    all_at_once = Policy(parameters).act(observations)
    one_by_one = [Policy(own).act(seen) for own, seen in zip(parameters, observations, strict=True)]
    assert (all_at_once == np.array(one_by_one)).all()
    (column,) = action_columns("factor")
    assert (all_at_once >= column.least).all() and (all_at_once <= column.most).all()


@pytest.mark.parametrize("seed", [6, 12, 33, 34])
def test_an_exported_policy_decides_the_same_in_the_simulator(seed: int, tmp_path: Path) -> None:
    """The network in C, in a plain simulation, gives the goodput of each interval that the environment gave."""
    program = os.environ.get("FAIRPACE_PROGRAM")
    if not program:
        pytest.fail("FAIRPACE_PROGRAM does not name the program; scripts/python.sh sets it")
    text = TWO.replace('"12mbit"', '"20mbit"')
    policy = Policy(np.random.default_rng(seed).normal(0, 0.6, Policy.SIZE))
    env = VectorEnv(text, interval_us=50_000, seed=3)
    observations, _ = env.reset(seed=3)
    trained = []
    truncated = np.zeros(2, bool)
    while not truncated.any():
        observations, _, _, truncated, info = env.step(policy.act(observations))
        trained.append(info["goodput_mbps"][0])
    header = tmp_path / "learned.h"
    policy.export(header, interval_us=50_000)
    scenario = tmp_path / "learned.toml"
    scenario.write_text(text.replace('"agent"', json.dumps(str(header))))
    out = tmp_path / "out"
    subprocess.run(
        [program, "sim", str(scenario), "--set", "seed=3", "--set", "interval=50ms", "--out", str(out), "--quiet"],
        check=True,
        capture_output=True,
    )
    lines = [line.split(",") for line in (out / "flows.csv").read_text().splitlines()]
    flow, goodput = (lines[0].index(name) for name in ("flow", "goodput_mbps"))
    played = [float(line[goodput]) for line in lines[1:] if line[flow] == "a"]
    # six digits in the file; the environment's reset ran the first interval
    assert np.allclose(played[1:], trained, rtol=1e-5, atol=1e-5)
    assert max(trained) > 1, "it sends"


def test_an_exported_policy_says_what_it_is_word_by_word(tmp_path: Path) -> None:
    policy, about = Policy(np.zeros(Policy.SIZE)), "of @weights@, @name@ and @interval_us@"
    policy.export(tmp_path / "a.h", about=about)
    text = (tmp_path / "a.h").read_text()
    assert f" * {about}\n" in text and text.count(".first = ") == 1
    assert "@" not in text.replace(about, "")


def test_a_policy_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(fp.OutputError, match="the policy cannot be written: .*; name another folder"):
        Policy(np.zeros(Policy.SIZE)).export(tmp_path / "none" / "a.h")


def test_a_policy_that_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="last axis"):
        Policy(np.zeros(3))
    with pytest.raises(ValueError, match="not a number"):
        Policy(np.full(Policy.SIZE, np.nan))
    policy = Policy(np.zeros(Policy.SIZE))
    for name in ["Learned.h", "learned.c", "9.h", "a-b.h", "much_too_long_a_name.h"]:
        with pytest.raises(ValueError, match="NAME.h"):
            policy.export(tmp_path / name)
    with pytest.raises(ValueError, match="interval_us"):
        policy.export(tmp_path / "a.h", interval_us=1)
    with pytest.raises(ValueError, match="population"):
        Policy(np.zeros((2, Policy.SIZE))).export(tmp_path / "a.h")
    assert len(FEATURES) == 7 and not list(tmp_path.iterdir())
