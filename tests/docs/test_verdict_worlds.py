"""The verdicts in docs/levels.md: no world without reliance is said to rely too often; a few draws are made again."""

import datasets
import pytest
import verdict_worlds as worlds

BY_NAME = {world.name: world for world in worlds.EVERY}


def test_no_world_is_called_reliance_too_often():
    """Planted faults: 30 of 100 that rely, in one world and over all; a world without a line."""
    told = worlds.read()
    assert told.keys() == BY_NAME.keys() and all(each.worlds >= 20 for each in told.values())
    assert not worlds.faults(told)
    name = worlds.EVERY[0].name
    assert worlds.faults({name: worlds.Told(name, 100, {"relies": 30})}) == [
        f"relies, {name}: 30 of 100", "relies, all of them: 30 of 100"
    ]  # fmt: skip


def test_reliance_that_is_there_is_found():
    """The power of the page: nine in ten of the planted worlds with 200 training rows and equally frequent classes."""
    told = worlds.read()
    for name in ("it relies on context (.95, else .70)", "it relies on context (.95, else .70), 60 clusters"):
        assert told[name].said["relies"] >= 0.9 * told[name].worlds


def test_draws_go_on_where_they_were_ended(tmp_path, monkeypatch):
    """Planted faults: draws made again; a line that was cut short as an error."""
    monkeypatch.setattr(worlds, "EVERY", worlds.EVERY[:2])
    monkeypatch.setattr(worlds, "_TOGETHER", 2)
    asked = []

    def tell(world, draws):
        asked.append((world.name, list(draws)))
        return worlds.Told(world.name, len(draws), {"unclear": len(draws)})

    monkeypatch.setattr(worlds, "tell", tell)
    names, file = [world.name for world in worlds.EVERY], tmp_path / "verdicts.jsonl"
    worlds.run(file, times=2)
    with file.open("a") as lines:
        lines.write('{"name": "cut')
    file.write_text(file.read_text() + "\n")
    told = worlds.run(file, times=4)
    assert asked == [(name, draws) for draws in ([0, 1], [2, 3]) for name in names]
    assert told[names[0]] == worlds.Told(names[0], 4, {"unclear": 4})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("it relies on context (.95, else .70)", {"relies"}),
        ("night is harder for all, classes equally frequent", set(worlds.SAID) - {"relies", "better"}),
        (
            "contexts are independent of the class, one is harder, 30 training rows",
            set(worlds.SAID) - {"relies", "better"},
        ),
    ],
)
def test_fixed_draws(name, answer, tmp_path):
    """The first two draws of three worlds, through `oochub.load`, `oochub.evaluate` and the verdict."""
    datasets.disable_progress_bars()
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert worlds.read_answer(worlds.make_report(BY_NAME[name], number, folder)) in answer


@pytest.mark.campaign
@pytest.mark.parametrize("name", [world.name for world in worlds.EVERY if not world.relies])
def test_rates(name):
    """100 draws of each world in which no context is used."""
    told = worlds.tell(BY_NAME[name], range(100))
    assert not worlds.faults({name: told})
