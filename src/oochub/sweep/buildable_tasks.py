"""Which tasks of a recipe a raw folder can give: those that a pattern matches and it cannot build are left out."""

from collections.abc import Iterable
from dataclasses import replace

from oochub import catalog
from oochub.benchmark import find_data_folder
from oochub.errors import OochubError, choose_wording
from oochub.sweep.sweep_recipe import SweepRecipe


def keep_buildable_tasks(
    recipe: SweepRecipe, *, data_dir: str | None = None, needed: bool = True, only: Iterable[str] = ()
) -> SweepRecipe:
    """The recipe with the matched tasks that can be built; `about` says how many they are.

    Tasks that the recipe names itself stay, and so do those of a recipe with tuning, which names all.

    Args:
        recipe: The recipe.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.
        needed: Whether the raw folder must be there; False leaves all tasks where none is found and says so.
        only: Tasks that are asked for by name.

    Raises:
        OochubError: No raw folder, one that cannot be read, or no task that can be built; one of `only` that cannot.

    >>> from oochub.sweep.sweep_recipe import read_recipe
    >>> recipe = read_recipe("spawrious")
    >>> keep_buildable_tasks(recipe, needed=False) == recipe  # nothing of it is matched
    True
    """
    for name in recipe.benchmarks if recipe.tuning is None else ():
        declared = catalog.get("benchmark", name)
        matched = [task for task in recipe.matched if task.partition("/")[0] == name]
        if not matched or declared.not_buildable is None:
            continue
        try:
            folder = find_data_folder(declared, data_dir)
        except OochubError:
            if needed or data_dir is not None:
                raise
            said = (
                f"Which of the {len(matched)} matching tasks of {name} can be built follows from its raw folder: with "
                f"{choose_wording('data_dir=', '--data-dir')} the others are left out."
            )
            recipe = replace(recipe, about=f"{recipe.about} {said}".strip())
            continue
        reasons = declared.not_buildable(folder, recipe.options)
        left_out = {task: reasons[config] for task in matched if (config := task.partition("/")[2]) in reasons}
        for task in only:
            if task in left_out:
                raise OochubError(f"{task} cannot be built from {folder}. {left_out[task]}")
        if not set(recipe.tasks) - set(left_out):
            task, reason = next(iter(left_out.items()))
            raise OochubError(f"None of the tasks can be built from {folder}, such as {task}: {reason}")
        said = f"{len(matched) - len(left_out)} of the {len(matched)} matching tasks of {name} can be built."
        said += "".join(f" The others are left out: {task}, for one. {why}" for task, why in [*left_out.items()][:1])
        tasks = tuple(task for task in recipe.tasks if task not in left_out)
        recipe = replace(recipe, tasks=tasks, about=f"{recipe.about} {said}".strip())
    return recipe
