# Everything that can be done with this repository; `make help` lists it.
#
# GNU make 3.81, which macOS has, is enough. Every path is relative, so a folder with a space in
# its name is fine. Nothing outside this folder is written but the caches of pip and npm.

# The Python that `.venv` is made from: 3.11 or newer.
PYTHON ?= python3

# A further place for pip to look for torch, and for torch alone. On Linux, PyPI has a build that
# brings gigabytes of CUDA libraries; this index has the build for the CPU, which is all that the
# site and the tests use. To train on an NVIDIA GPU: make distclean, then make train TORCH_INDEX=
TORCH_INDEX ?= $(if $(filter Linux,$(shell uname -s)),https://download.pytorch.org/whl/cpu)

torch_from := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX) --timeout 20 --retries 2)

# The Python of Colab's newest runtime; `tests/colab/requirements.txt` has its packages.
COLAB_PYTHON ?= python3.13

# The first version that `setup.py` admits.
OLDEST_TORCH := 2.4.0

# The environment: make test PYTHON=python3.13 VENV=.python3.13 leaves the usual one alone.
VENV ?= .venv

# What builds the website from the pages: mkdocs, or zensical, which comes after it.
ENGINE ?= mkdocs
build_with_mkdocs := mkdocs build --strict
build_with_zensical := literate zensical
ifeq ($(build_with_$(ENGINE)),)
$(error ENGINE is "$(ENGINE)", which is none; the engines are mkdocs and zensical)
endif

# The folder of the built website, for `make purge`.
SITE ?= site

# Arguments for the program that `make test`, `make train`, `make serve`, `make bench`
# and `make bench-site` run.
ARGS ?=

# The experiment of `make bench`.
NAME ?=

# A slice of `make whole`, or `today` for the one that the date chooses; all, if none is named.
SLICE ?=

run := $(VENV)/bin/python
install := $(run) -m pip install --disable-pip-version-check --constraint constraints.txt

# For programs of npm's packages, which run in Node.
node_programs := PATH="$(CURDIR)/$(VENV)/bin:$(CURDIR)/node_modules/.bin:$$PATH"

# Each step of the set-up ends by writing its stamp: a step that was interrupted is done again, and
# one that is done is done again only when what it depends on has changed.
made := $(VENV)/made

# As many tests at a time as there are cores. (One more is no faster: the cores are busy throughout.)
parallel := --numprocesses=logical --maxprocesses=4 --dist=worksteal

# A cache that would go to the home folder.
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
# Material's notice about MkDocs 2, at each build: setup.py admits MkDocs 1 only.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
# The steps write the same folders; two at once, under `make -j`, would spoil them.
.NOTPARALLEL:
.PHONY: help site purge serve notebooks published push train test quick whole packages oldest colab update dist soak proof lint check bench bench-site clean distclean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

site: $(made)/site node_modules/.made ## Measure the pages; build the website into site/
	$(run) -m $(build_with_$(ENGINE))
	@$(MAKE) --no-print-directory purge
	$(run) -m literate notebooks
	@echo
	@echo 'The site is in site/. To read it, type `make serve` and open http://127.0.0.1:8000/'

# A third of the style sheets is for what no page here has, and a third of our own is comments and
# blanks. The first paint waits for all of it.
purge: ## Drop from the style sheets of the site what no page uses, as make site does
	@cd "$(SITE)" && for css in assets/stylesheets/*.css assets/stylesheets/*/*.css assets/katex/*.css; do \
		! test -f "$$css" || $(node_programs) purgecss \
			--css "$$css" --content '**/*.html' 'assets/**/*.js' --output "$$css"; done
	@cd "$(SITE)" && PATH="$(CURDIR)/$(VENV)/bin:$$PATH" "$(CURDIR)/node_modules/.bin/esbuild" \
		--minify --allow-overwrite --outdir=assets --log-level=warning assets/literate.css assets/forms.css

serve: $(made)/site node_modules/.made ## Show the website at http://127.0.0.1:8000/ and follow changes
	$(run) -m mkdocs serve $(ARGS)

notebooks: $(made)/site ## Build the notebooks from the sources
	$(run) -m literate notebooks

# Those whose code is as it was keep their outputs. Links lead to REPOSITORY_URL and SITE_URL.
published: $(made)/test ## Write the notebooks with outputs, links and badges into published/; run what has changed
	$(run) -m literate notebooks --out published/notebooks --run

# One commit without a parent: nobody needs the outputs of before. Done with an index of its own.
push: ## Make published/ the one commit of the branch `notebooks`, and push it
	@git_dir=$$(git rev-parse --absolute-git-dir) && export GIT_INDEX_FILE="$$git_dir/published-index" && \
	rm -f "$$GIT_INDEX_FILE" && (cd published && git --git-dir="$$git_dir" --work-tree=. add --all notebooks) && \
	tree=$$(git write-tree) && commit=$$(git -c user.name=notebooks -c user.email=notebooks@localhost \
		commit-tree -m 'Notebooks with outputs' "$$tree") && \
	git push --force origin "$$commit:refs/heads/notebooks"

train: $(made)/train ## Train the small transformer; make train ARGS=--help lists the options
	$(run) -m labml_nn.training.engine $(ARGS)

test: $(made)/test node_modules/.made ## Run the tests, in a browser too
	$(run) tests/browser/chromium.py
	$(run) -m pytest $(parallel) $(ARGS)

quick: $(made)/test node_modules/.made ## What to run while writing: style, types, all pages checked, who imports whom
	$(run) -m ruff check
	$(run) -m ruff format --check
	$(run) -m mypy
	@# Two at a time: an author waits for both.
	$(run) -m pytest -q tests/test_architecture.py & tests=$$!; \
	$(run) -m literate check; checked=$$?; wait $$tests && exit $$checked

# In an environment of its own: the usual one keeps its torch.
oldest: ## Execute the notebooks with the oldest torch that setup.py admits
	@$(MAKE) --no-print-directory VENV=.oldest .oldest/made/test
	.oldest/bin/python -m pip install --disable-pip-version-check $(torch_from) torch==$(OLDEST_TORCH)
	.oldest/bin/python -m pytest $(parallel) -m '' tests/literate/test_notebook_runs.py $(ARGS)

colab: .colab/made ## Execute the notebooks with the Python, torch and kernel of Colab's newest runtime
	OMP_NUM_THREADS=1 PYDEVD_DISABLE_FILE_VALIDATION=1 .colab/bin/python -W ignore -m tests.colab $(ARGS)

update: node_modules/.made ## Try the newest versions that setup.py admits, beside the pins; what breaks
	$(PYTHON) -m venv --clear .newest
	.newest/bin/python -m pip install --disable-pip-version-check $(torch_from) torch
	.newest/bin/python -m pip install --disable-pip-version-check setuptools
	.newest/bin/python -m pip install --disable-pip-version-check --no-build-isolation --editable '.[torch,train,site,test]'
	@# Names are spelled in one way here, and torch without its build.
	@grep '^[^#].*==' constraints.txt | tr 'A-Z_' 'a-z-' | sort > .newest/pinned
	@.newest/bin/python -m pip freeze --all | grep '^[^#].*==' | sed 's/+.*//' | tr 'A-Z_' 'a-z-' | sort > .newest/found
	@echo 'Pinned (<) and newest (>):'
	@diff .newest/pinned .newest/found || true
	@$(VENV)/bin/npm outdated || true
	.newest/bin/python -m pytest $(parallel) $(ARGS)

dist: $(made)/test ## Build the package for PyPI into dist/
	rm -rf build dist
	$(run) -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

soak: $(made)/train ## Run what takes longer: fifty kills, and three seeds of each recipe
	$(run) -m tests.soak $(ARGS)

proof: $(made)/test ## Compare changed pages with the code of others, and break them; their row of the table
	$(run) -m tests.mutants.proof $(ARGS)

lint: $(made)/test node_modules/.made ## Check the code's style, layout and types, the pages' rules, and that the notebooks are up to date
	$(run) -m ruff check
	$(run) -m ruff format --check
	$(run) -m mypy
	$(node_programs) tsc
	$(node_programs) prettier --log-level warn --check '**/*.{js,mjs,css}' '*.json'
	$(run) -m literate check
	$(run) -m literate notebooks --check

whole: $(made)/test node_modules/.made ## Run the slow tests; make whole SLICE=browser runs a part of ten minutes, SLICE=list names them
	$(run) tests/browser/chromium.py
	$(run) -m tests.slices $(SLICE) $(parallel) $(ARGS)

# Wheels of one kind, so that a hash is that of one file on any machine; they are read and never run.
packages: $(made)/test ## Download packages of others, which slow tests make pages of
	$(run) -m pip download --disable-pip-version-check --quiet --no-deps --require-hashes \
		--only-binary :all: --platform manylinux_2_28_x86_64 --python-version 3.11 \
		--requirement tests/literate/packages.txt --dest .cache/packages

check: lint test whole site ## lint, test, whole and site, one after another

bench: $(made)/site ## Record one result, make bench NAME=encoders; without a name, list them
	$(run) -m benchmarks $(NAME) $(ARGS)

# ANCHOR names the folder `docs` of the site that this one descends from; see the program's --help.
bench-site: $(made)/test node_modules/.made benchmarks/figures/node_modules/.made ## Print the figures of the site
	$(run) -m benchmarks.figures $(if $(ANCHOR),--anchor "$(ANCHOR)") $(ARGS)

clean: ## Remove what was built; the runs stay
	rm -rf site .cache build dist annotated_transformers.egg-info

distclean: clean ## Remove what was installed, too
	rm -rf .venv .colab .newest .oldest .python3.* node_modules benchmarks/figures/node_modules

# The set-up

say := >&2 printf 'make: %s\n'

$(made)/venv:
	@command -v "$(PYTHON)" > /dev/null || { $(say) \
		'there is no $(PYTHON) here. Install Python 3.11 or newer, or name one: make PYTHON=python3.12'; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { $(say) \
		'$(PYTHON) is older than Python 3.11. Name a newer one: make PYTHON=python3.12'; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2> /dev/null || { $(say) \
		'$(PYTHON) cannot make an environment: it has no venv or ensurepip. On Debian or Ubuntu: apt-get install python3-venv'; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@mkdir -p $(@D) && touch $@

# torch comes first and alone: only for it is the further index asked, and where that cannot be
# reached pip says so and takes the build that it finds elsewhere.
$(made)/torch: constraints.txt $(made)/venv
	$(install) --no-deps $(torch_from) torch
	$(install) setuptools
	@touch $@

$(made)/train: setup.py $(made)/torch
	$(install) --no-build-isolation --editable '.[torch,train]'
	@touch $@

# To measure the pages is to run them, those about training too.
$(made)/site: $(made)/train
	$(install) --no-build-isolation --editable '.[site,notebooks,imaging,live,zensical]'
	@touch $@

$(made)/test: $(made)/site
	$(install) --no-build-isolation --editable '.[test]'
	@touch $@

# An environment of its own: its Python and its packages are others.
.colab/made: tests/colab/requirements.txt
	@# One that is found may still not start: pyenv has such programs.
	@"$(COLAB_PYTHON)" -c '' 2> /dev/null || { $(say) \
		'no $(COLAB_PYTHON) starts here, which is the Python of Colab. Name it: make colab COLAB_PYTHON=FILE'; exit 1; }
	"$(COLAB_PYTHON)" -m venv --clear .colab
	.colab/bin/python -m pip install --disable-pip-version-check --no-deps $(torch_from) \
		$$(grep '^torch==' $<)
	.colab/bin/python -m pip install --disable-pip-version-check --requirement $<
	@touch $@

# npm comes from PyPI, with Node. It empties node_modules first: the stamp goes with it.
# (Another environment is no reason to fetch them again.)
node_modules/.made: package.json package-lock.json .npmrc | $(made)/site
	$(VENV)/bin/npm ci --prefer-offline --cache .cache/npm
	@touch $@

# Lighthouse brings two hundred packages: they are installed for `make bench-site` alone.
benchmarks/figures/node_modules/.made: $(addprefix benchmarks/figures/,package.json package-lock.json .npmrc) | $(made)/site
	cd benchmarks/figures && ../../$(VENV)/bin/npm ci --prefer-offline --cache ../../.cache/npm
	@touch $@
