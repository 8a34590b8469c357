"""The threads of a network's passes follow its size and the free cores, and change no bit of the logits."""

import itertools

import numpy as np
import pytest
import torch
from model_folders import pictures, resnet

import oochub
from oochub.models import acceleration
from oochub.models.acceleration import FreeCores, PassThreads, choose_threads
from oochub.process.program import count_cores


@pytest.fixture
def two_threads():
    """Two threads for torch, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("free", "network", "beside"), itertools.product((1, 2, 3, 8), (0.001, 0.5, 3.0), (0.0, 0.5, 9.0))
)
def test_the_fewest_threads_that_cost_no_time(free, network, beside):
    """By trying all: a batch takes the longer of the pass and an equal share of all work. Planted fault seen: floor."""
    shared = (network + beside) / free
    enough = [n for n in range(1, free + 1) if network / n <= shared * (1 + 1e-9)]
    assert choose_threads(free, network, beside) == min(enough)


@pytest.mark.parametrize(("busy", "own", "free"), [(0, 0, 4), (4, 4, 4), (3, 2, 3), (4, 1, 1), (4, 0, 1), (2.4, 1, 3)])
def test_what_other_programs_take_is_not_free(busy, own, free, tmp_path, monkeypatch):
    """Four cores for ten seconds, of which `busy` worked, `own` of them for us. Planted fault seen: ours counted."""
    clock = {"wall": 100.0, "own": 7.0}
    monkeypatch.setattr(acceleration, "_STAT", tmp_path / "stat")
    monkeypatch.setattr(acceleration, "count_cores", lambda: 4)
    monkeypatch.setattr(acceleration.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(acceleration.time, "monotonic", lambda: clock["wall"])
    monkeypatch.setattr(acceleration.time, "process_time", lambda: clock["own"])
    ticks = acceleration.os.sysconf("SC_CLK_TCK")
    (tmp_path / "stat").write_text("cpu 500 20 30 9000 40 0 0 0 0 0\n")
    cores = FreeCores()
    assert cores.count() == 4
    clock.update(wall=110.0, own=7.0 + 10 * own)
    (tmp_path / "stat").write_text(f"cpu {500 + int(busy * 10 * ticks)} 20 30 9900 99 0 0 0 0 0\n")
    assert cores.count() == free


def test_a_machine_without_such_a_file_is_ours(tmp_path, monkeypatch):
    """As on macOS."""
    monkeypatch.setattr(acceleration, "_STAT", tmp_path / "none")
    assert FreeCores().count() == count_cores()


def test_a_large_network_gets_the_free_cores_and_gives_them_back(two_threads, monkeypatch):
    """Its first pass runs in one thread, and tells how large it is. Planted fault seen: not given back."""
    free = iter([2, 2, 1])
    monkeypatch.setattr(acceleration.FreeCores, "count", lambda self: next(free))
    matrix, seen = torch.ones(300, 300), []

    def work():
        seen.append(torch.get_num_threads())
        for _ in range(20):
            matrix @ matrix

    with pytest.raises(KeyError), PassThreads(is_shared=True) as threads:
        for _ in range(3):
            threads.run(work)
        raise KeyError
    assert seen == [1, 2, 1] and torch.get_num_threads() == 2


def test_a_small_network_beside_decoders_keeps_one_thread(two_threads, monkeypatch):
    """Whose work is as long."""
    spent = itertools.count(step=10.0)
    monkeypatch.setattr(acceleration.FreeCores, "count", lambda self: 2)
    monkeypatch.setattr(acceleration.time, "process_time", lambda: next(spent))  # of all threads
    with PassThreads(is_shared=True) as threads:
        assert [threads.run(torch.get_num_threads) for _ in range(3)] == [1, 1, 1]


def test_a_number_that_is_given_is_taken(two_threads, monkeypatch, tmp_path):
    """By `oochub.predict` too; afterwards torch has its own again."""
    given, init = [], PassThreads.__init__
    monkeypatch.setattr(PassThreads, "__init__", lambda self, **more: given.append(more["given"]) or init(self, **more))
    with PassThreads(is_shared=True, given=3) as threads:
        assert threads.run(torch.get_num_threads) == 3
    oochub.predict(resnet(tmp_path / "model"), pictures(), threads=1, cache=False)
    assert given == [3, 1] and torch.get_num_threads() == 2


def test_another_device_keeps_the_threads_of_torch(two_threads):
    with PassThreads(is_shared=False) as threads:
        assert threads.run(torch.get_num_threads) == 2


@pytest.mark.slow
def test_logits_are_the_same_bits_with_any_number_of_threads(two_threads, tmp_path, monkeypatch):
    """Of one and of two, and of a number that changes from pass to pass."""
    model, made, turn = resnet(tmp_path / "model"), [], itertools.cycle([1, 2])
    for choose in (lambda *given: 1, lambda *given: 2, lambda *given: next(turn)):
        monkeypatch.setattr(acceleration, "choose_threads", choose)
        made.append(oochub.predict(model, pictures(), features=True, batch_size=1, cache=False))
    for other in made[1:]:
        np.testing.assert_array_equal(other.logits, made[0].logits)
        np.testing.assert_array_equal(other.features, made[0].features)
