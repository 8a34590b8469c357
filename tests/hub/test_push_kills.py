"""SIGKILL while something is pushed: main is as it was or complete, and the next push completes it."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from oochub.hub.upload import upload

HERE = "datasets/user/data"
_CODE = """
import sys
from pathlib import Path
from oochub.hub.upload import upload
upload(Path(sys.argv[1]), "user/data", repo_type="dataset", message="Push", delete=["one/*"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "after"), [("PUT /lfs", True), ("POST .*/preupload/", False), ("POST .*/commit/", True)]
)
def test_a_kill_leaves_the_old_or_the_new(hub, folder, moment, after):
    """Planted fault: the card committed before the files."""
    with hub.pause_at(moment, after=after) as pause:
        process = subprocess.Popen([sys.executable, "-c", _CODE, str(folder)], env=hub.env)
        pause.wait()
        process.send_signal(signal.SIGKILL)
        process.wait()
    names = {"README.md", "one/a.parquet", "one/b.parquet"}
    there = set(hub.files(HERE)) - {".gitattributes"}
    assert there == (names if "commit" in moment else set())
    sent = [one.path for one in hub.requests if one.method == "PUT" and one.status == 200]
    pushed = upload(folder, "user/data", repo_type="dataset", message="Push", delete=["one/*"])
    assert set(hub.files(HERE)) - {".gitattributes"} == names and pushed.is_change is not bool(there)
    again = [one.path for one in hub.requests if one.method == "PUT" and one.status == 200][len(sent) :]
    assert not set(again) & set(sent)  # blobs that are there are not sent again


@pytest.mark.campaign
def test_killed_at_twenty_random_moments(hub, raw, tmp_path):
    """Of the whole command, build and all. OOCHUB_KILL_SEED=N draws the moments of an earlier run."""
    words = ["push", "spawrious/o2o_hard", "--data-dir", str(raw("spawrious/o2o_hard"))]

    def run(name, stop=None):
        start = time.monotonic()
        command = [sys.executable, "-m", "oochub.cli", *words, "--to", name]
        process = subprocess.Popen(command, env={**hub.env, "OOCHUB_CACHE": str(tmp_path / name.replace("/", "-"))})
        try:
            process.wait(stop)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return process.returncode, time.monotonic() - start

    code, length = run("user/whole")
    expected = {name: hub.content("datasets/user/whole", name) for name in hub.files("datasets/user/whole")}
    assert code == 0 and len(expected) > 4
    moments = random.Random(int(os.environ.get("OOCHUB_KILL_SEED", "1")))
    killed = 0
    for number in range(20):
        name = f"user/killed{number}"
        code, _ = run(name, moments.uniform(0, length))
        killed += code == -signal.SIGKILL
        place = f"datasets/{name}"
        is_there = place in hub.store.repositories
        there = {each: hub.content(place, each) for each in hub.files(place)} if is_there else {}
        assert set(there) <= {".gitattributes"} or there == expected
        assert run(name)[0] == 0
        assert {each: hub.content(place, each) for each in hub.files(place)} == expected
    assert killed >= 10
