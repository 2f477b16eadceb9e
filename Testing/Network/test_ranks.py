# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Trainings by several processes against the same training by one: the run folders have the same bytes."""

import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

# The quick ones show each property once; the slow ones (most of them waits for a limit) run with Utilities/test --all.
slow = pytest.mark.skipif(not os.environ.get("GIGAPIXEL_TEST_ALL"), reason="slow: Utilities/test --all")
PROGRAM = os.environ["GIGAPIXEL_TRAIN_RANK"]
FILES = ["best.safetensors", "last.safetensors", "history.csv"]
# Of this process' environment nothing that a launcher around the tests has set.
CLEAN = {
    key: value
    for key, value in os.environ.items()
    if not key.startswith(("OMPI_", "PMI", "SLURM_", "MASTER_"))
    and key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
}


def read(folder):
    return {name: (Path(folder) / name).read_bytes() for name in FILES}


def run_alone(folder, epochs, images_per_step, *more):
    run_and_count(folder, epochs, images_per_step, *more)
    return read(folder)


def run_and_count(folder, epochs, images_per_step, *more):
    """How many pixels are read."""
    words = [PROGRAM, folder, str(epochs), str(images_per_step), *more]
    return count_pixels(subprocess.run(words, env=CLEAN, check=True, stdout=subprocess.PIPE, text=True).stdout)


def count_pixels(output):
    return int(re.search(r"(\d+) pixels read", output)[1])


def free_port():
    """Below the ports that connections are given, so that none of them has it a moment later."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def start(ranks, arguments, port=None, host="127.0.0.1", prefixes=None, **variables):
    """The processes of a job, with the variables that torchrun sets."""
    port = port or free_port()
    processes = []
    for rank in range(ranks):
        environment = {
            **CLEAN,
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(ranks),
            "MASTER_ADDR": host,
            "MASTER_PORT": str(port),
            **variables,
        }
        words = arguments(rank) if callable(arguments) else arguments
        command = (prefixes[rank] if prefixes else []) + [PROGRAM, *map(str, words)]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    return processes


def finish(processes):
    """Exit codes and outputs."""
    outputs = [process.communicate(timeout=200)[0].decode() for process in processes]
    return [process.returncode for process in processes], outputs


MISBEHAVIORS = {"die": "rank {} on {} died", "hang": "rank {} on {} hangs", "fail": "out of slides"}


@pytest.fixture(scope="module", autouse=True)
def misbehaving(tmp_path_factory):
    """Jobs of three ranks, of which one misbehaves in its second epoch. Nearly all of their time is waiting for a limit,
    so they are started first and looked at last."""
    jobs = {}
    for rank in [0, 1] if os.environ.get("GIGAPIXEL_TEST_ALL") else [1]:
        for how in MISBEHAVIORS:
            run = tmp_path_factory.mktemp(how) / "run"
            limit = {"GIGAPIXEL_RANK_TIMEOUT": "5"} if how == "hang" else {}
            jobs[how, rank] = (run, start(3, [run, 2, 1, how, rank], **limit))
    yield jobs
    for _, processes in jobs.values():
        for process in processes:
            process.kill()


@pytest.fixture(scope="module", autouse=True)
def silent(misbehaving, tmp_path_factory):
    """A job whose rank 0, the meeting point of all, is stopped, as a machine is that loses its network; looked at last."""
    if not os.environ.get("GIGAPIXEL_TEST_ALL"):
        yield []
        return
    run = tmp_path_factory.mktemp("silent") / "run"
    processes = start(2, [run, 1000, 1])
    while not (run / "last.safetensors").exists():
        assert processes[0].poll() is None, processes[0].communicate()
        time.sleep(0.05)
    processes[0].send_signal(signal.SIGSTOP)
    yield processes
    processes[0].kill()
    processes[0].communicate()


def test_ranks_of_a_graph_make_the_bits_of_one_process(tmp_path, monkeypatch):
    """Gradients of graphs are added up on another way than those of layers, and LibTorch computes them."""
    monkeypatch.setitem(CLEAN, "NETWORK", "unet:base=4,depth=2,channels=1")
    files = run_alone(tmp_path / "alone", 2, 1)
    for ranks in (2, 3):
        run = tmp_path / str(ranks)
        codes, outputs = finish(start(ranks, [run, 2, 1]))
        assert codes == [0] * ranks, outputs
        assert read(run) == files


@pytest.mark.parametrize("images_per_step", [1, 3])
def test_ranks_of_segments_make_the_bits_of_one_process(images_per_step, tmp_path, monkeypatch):
    """An image that goes through in segments is one rank's; the images of a step are shared out."""
    monkeypatch.setitem(CLEAN, "NETWORK", "unet:base=4,depth=2,channels=1")
    monkeypatch.setitem(CLEAN, "KEPT", "enc.1.5")
    files = run_alone(tmp_path / "alone", 2, images_per_step)
    assert b"enc.1.5" in files["last.safetensors"].split(b"segments")[1][:100]
    for ranks in (2, 3):
        run = tmp_path / str(ranks)
        codes, outputs = finish(start(ranks, [run, 2, images_per_step]))
        assert codes == [0] * ranks, outputs
        assert read(run) == files


@pytest.mark.parametrize("pool, images_per_step", [("attention", 1), ("max", 1), ("lse", 2)])
def test_ranks_that_share_a_labeled_image_make_the_bits_of_one_process(pool, images_per_step, tmp_path, monkeypatch):
    """What the image is pooled to goes from rank to rank; then each has its share of the gradient's tiles."""
    monkeypatch.setitem(CLEAN, "NETWORK", f"resnet18:width=4,pool={pool},channels=1")
    pixels = run_and_count(tmp_path / "alone", 2, images_per_step)
    for ranks in (2, 4):
        run = tmp_path / str(ranks)
        codes, outputs = finish(start(ranks, [run, 2, images_per_step]))
        assert codes == [0] * ranks, outputs
        assert read(run) == read(tmp_path / "alone")
        shares = [count_pixels(output) for output in outputs]
        assert min(shares) > 0 and max(shares) < 0.75 * pixels
        assert pool == "max" or sum(shares) == pixels  # with max, what has no gradient may be told before it is read


@pytest.fixture(scope="module", params=[1, 3], ids=["tiles of one image", "images and tiles"])
def reference(request, tmp_path_factory):
    """How many images make a step, and the files of one process."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    return request.param, run_alone(folder, 3, request.param)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_make_the_bits_of_one_process(ranks, reference, tmp_path):
    images_per_step, files = reference
    codes, outputs = finish(start(ranks, [tmp_path / "run", 3, images_per_step]))
    assert codes == [0] * ranks, outputs
    assert read(tmp_path / "run") == files


def test_dice_is_that_of_all_ranks(tmp_path, monkeypatch):
    monkeypatch.setitem(CLEAN, "LOSS", "dice")
    files = run_alone(tmp_path / "alone", 1, 3)
    codes, outputs = finish(start(4, [tmp_path / "run", 1, 3]))
    assert codes == [0] * 4, outputs
    assert read(tmp_path / "run") == files


def test_a_run_goes_on_with_another_number_of_ranks(reference, tmp_path):
    images_per_step, files = reference
    run = tmp_path / "run"
    codes, outputs = finish(start(4, [run, 3, images_per_step, "stop", 2]))
    assert set(codes) == {3}, outputs
    codes, outputs = finish(start(2, [run, 2, images_per_step, "resume"]))
    assert set(codes) == {0}, outputs
    assert run_alone(run, 3, images_per_step, "resume") == files


@pytest.mark.parametrize("options", [[(1, 1), (1, 2)], [(1, 1), (2, 1)]], ids=["images per step", "epochs"])
def test_ranks_with_other_options_are_refused(options, tmp_path):
    codes, outputs = finish(start(2, lambda rank: [tmp_path / "run", *options[rank]]))
    assert codes == [1, 1]
    assert all("[E-RANKS-DIFFER]" in output for output in outputs)


def test_a_half_given_environment_is_refused():
    done = subprocess.run([PROGRAM, "run", "1", "1"], env={**CLEAN, "WORLD_SIZE": "2"}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "[E-OPTION-VALUE]" in done.stdout and "RANK" in done.stdout


@pytest.mark.skipif(not shutil.which("mpirun"), reason="mpirun is not installed (Debian: openmpi-bin)")
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=slow)])
def test_mpirun(ranks, reference, tmp_path):
    images_per_step, files = reference
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
    environment = {**CLEAN, "MASTER_PORT": str(free_port())}
    done = subprocess.run(
        [*command, PROGRAM, tmp_path / "run", "3", str(images_per_step)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert read(tmp_path / "run") == files


TORCHRUN = shlex.split(os.environ.get("GIGAPIXEL_TORCHRUN") or shutil.which("torchrun") or "")


@pytest.mark.skipif(not TORCHRUN, reason="torchrun is not installed (PyPI: torch); GIGAPIXEL_TORCHRUN names it")
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=slow)])
def test_torchrun(ranks, reference, tmp_path):
    images_per_step, files = reference
    command = [*TORCHRUN, "--standalone", "--no-python", "--nproc-per-node", str(ranks)]
    done = subprocess.run(
        [*command, PROGRAM, tmp_path / "run", "3", str(images_per_step)], env=CLEAN, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert read(tmp_path / "run") == files


@pytest.fixture
def hosts():
    """Two network namespaces with an address each, as two hosts have."""
    names = [f"gigapixel{os.getpid()}{i}" for i in range(2)]
    commands = [
        *(f"netns add {name}" for name in names),
        f"link add name veth0 netns {names[0]} type veth peer name veth1 netns {names[1]}",
    ]
    for i, name in enumerate(names):
        commands += [f"-n {name} addr add 10.66.0.{i + 1}/24 dev veth{i}"]
        commands += [f"-n {name} link set {device} up" for device in ("lo", f"veth{i}")]
    try:
        for command in commands:
            done = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
            if done.returncode:
                pytest.skip("network namespaces are not allowed here: " + done.stderr.strip())
        yield names
    except FileNotFoundError:
        pytest.skip("ip is not installed (Debian: iproute2)")
    finally:
        for name in names:
            if shutil.which("ip"):
                subprocess.run(["ip", "netns", "del", name], capture_output=True)


@slow
def test_several_hosts(hosts, reference, tmp_path):
    images_per_step, files = reference
    prefixes = [["ip", "netns", "exec", hosts[rank // 2]] for rank in range(4)]
    processes = start(4, [tmp_path / "run", 3, images_per_step], host="10.66.0.1", prefixes=prefixes)
    codes, outputs = finish(processes)
    assert codes == [0] * 4, outputs
    assert read(tmp_path / "run") == files


@pytest.mark.parametrize("rank", [pytest.param(0, marks=slow), 1])
@pytest.mark.parametrize("how", MISBEHAVIORS)
def test_a_rank_that_misbehaves_ends_the_job_and_is_named(how, rank, misbehaving, tmp_path):
    run, processes = misbehaving[how, rank]
    codes, outputs = finish(processes)  # its limit is far beyond those of the ranks
    assert codes == [1] * 3, outputs
    for other in {0, 1, 2} - {rank}:
        assert MISBEHAVIORS[how].format(rank, os.uname().nodename) in outputs[other]
    codes, outputs = finish(start(2, [run, 2, 1, "resume"]))
    assert codes == [0, 0], outputs
    assert read(run) == run_alone(tmp_path / "alone", 2, 1)


@slow
def test_a_host_that_falls_silent_is_named(silent):
    output = silent[1].communicate(timeout=100)[0].decode()
    assert silent[1].returncode == 1
    assert f"rank 0 on {os.uname().nodename} died" in output
