# Oncegate. Each target does its own set-up; the next run then starts within seconds.
#
#  Run
#    make run         runs everything on this machine with a simulated sensor board; Ctrl-C stops it
#    make ingest      runs the Spark job on the uploaded segments
#
#  Check
#    make check       format, lint, types, imports, and half of the tests that are not slow or long
#    make test        runs what CI runs: all tests except those marked long
#    make test-long   runs the tests marked long
#    make format      formats the sources, and fixes what lint can fix
#    make docs        builds the documents as a site, build/site/index.html; a dead link fails
#
#  Build
#    make wheel       the wheel, with its core compiled if there is a C compiler: docs/install.md
#    make deb         Debian packages for SUITE=trixie or bookworm (root): docs/services.md
#    make image       the SD card, dist/oncegate-VERSION-arm64.img.xz (root): image/README.md
#    make bundle      the same version as a signed update of a card
#    make container   an OCI image for ARCH="arm64 amd64" (root): image/container/README.md
#
#  Prove and measure (more targets: CONTRIBUTING.md)
#    make simulate    simulates the broker with SEEDS=2000 random seeds;
#                     ARGUMENTS="--cuts --pairs" cuts the power at every moment of each scenario
#    make fuzz        searches for inputs that no test has, for SECONDS=600
#    make powercut    cuts the power of a broker under load CUTS=100 times and counts the losses (root)
#    make kill        kills a broker under load KILLS=2000 times with SIGKILL and counts the losses
#    make bench       measures next to Debian's Mosquitto, about five minutes: docs/benchmarks.md
#
#  Maintain
#    make requirements  locks the packages again; UPGRADE=--upgrade takes newer versions
#    make clean       removes everything that can be built again; keeps var/
#    make distclean   also removes .venv and the inputs that fuzzing has kept
#
# PYTHON=... selects an interpreter (3.11 to 3.13). ARGUMENTS=... is passed to oncegate or pytest.

# A test run starts hundreds of processes that import the same modules, so their byte code is kept.
unexport PYTHONDONTWRITEBYTECODE

SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
OBJECT_STORE := $(VENV)/object-store
# Third-party programs that run together with the gateway in `make real-programs`.
HOME_ASSISTANT := build/real-programs/home-assistant
NODE_RED := build/real-programs/node-red
TELEGRAF := build/real-programs/telegraf
ZIGBEE2MQTT := build/real-programs/zigbee2mqtt
BIN := $(VENV)/bin
SECOND := $(VENV)/second-python
# uv has its own virtual environment. It must use the given Python and never download one.
UV_VENV := $(VENV)/uv
UV := UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1 $(UV_VENV)/bin/uv
INSTALL := $(UV) pip install -q -p $(BIN)/python --no-build-isolation --require-hashes
PACKAGES := requirements/install-debian-packages
# Node.js and npm are Python packages of the tests. MQTT.js is locked next to the program that uses
# it.
MQTTJS := tests/contract/mqtt_client/mqttjs
NPM := $(BIN)/npm --prefix $(MQTTJS)
# Lock for a set-up: if two start at the same time, the second waits, and then has nothing to do.
# (uv has its own lock, $(VENV)/.lock.)
ALONE = mkdir -p $(VENV); exec 9>$(VENV)/.set-up; flock 9; \
	if [ -e $@ ] && [ -z "$$(find $^ -newer $@)" ]; then exit 0; fi

SOURCES := gateway firmware-bridge api cloud_jobs image tests docs hatch_build.py
COMPILED_SOURCES := $(wildcard gateway/broker/wire/*.py gateway/broker/core/*.py gateway/broker/core/*/*.py gateway/broker/core/*/*/*.py)
OTHER_SOURCES := $(filter-out $(COMPILED_SOURCES),$(wildcard gateway/*.py gateway/*/*.py gateway/*/*/*.py gateway/*/*/*/*.py))
PYTHON ?=
ARGUMENTS ?=
# Paths below tests/ in ARGUMENTS, and everything else in ARGUMENTS.
NAMED = $(filter tests/%,$(ARGUMENTS))
OPTIONS = $(filter-out tests/%,$(ARGUMENTS))
# $(call run-in,ROOMS,PYTEST) runs the tests of the folders ROOMS. If ARGUMENTS names tests, only
# those of them that are in these folders run.
rooms = $(if $(NAMED),$(filter $(addsuffix %,$(1)),$(NAMED)),$(1))
run-in = $(if $(call rooms,$(1)),$(2) $(call rooms,$(1)) $(OPTIONS),echo "not run: ARGUMENTS")
# Folders whose tests also run on a second Python.
IN_SECOND := tests/api tests/bridge tests/broker/server
# Options of `make fuzz`, `make powercut`, `make simulate` and others. The help of each program
# describes its other options.
SECONDS ?= 600
CUTS ?= 100
FILLS ?= 10
KILLS ?= 2000
MINUTES ?= 10
SEED ?=
SEEDS ?= 2000
FIRST ?= 0
UPGRADE ?=
IMAGE_URL ?=
BEFORE ?=
SUITE ?= trixie
ARCH ?= arm64 amd64
# Processes of `make test`: enough to keep two cores busy while some tests wait.
WORKERS ?= 3
# One in SAMPLE of the tests that run on uvloop also runs on asyncio's own event loop. `make check`
# runs one in CHECK_SAMPLE of all other tests.
SAMPLE ?= 10
CHECK_SAMPLE ?= 2
# `make test` runs one in SECOND_SAMPLE of the tests for a second Python, `make test-second-python`
# all.
SECOND_SAMPLE ?= 40
ONE_IN ?= 1
# The day of the year. `make test` runs some tests only on certain days (tests/conftest.py), and one
# long proof per day. DAY=N selects another day, and ALL_DAYS=1 the tests of all days. Tests that
# are named in ARGUMENTS run on every day.
DAY ?= $(shell date +%-j)
ALL_DAYS ?=
OF_THE_DAY = $(if $(ALL_DAYS)$(NAMED),,--day $(DAY))

.PHONY: docs help run test collected test-of-the-day test-compiled test-image test-plain test-quiet test-second-python
.PHONY: test-spark test-long check wheel ingest format clean distclean
.PHONY: requirements deb deb-test packages-deb
.PHONY: real-programs machines packages-machines conformance conformance-write fill fuzz fuzz-board kill kill-board powercut simulate uplink-kill
.PHONY: image image-card image-twice bundle image-test image-chain container container-test
.PHONY: packages-run packages-test packages-cloud packages-bench packages-all-tests packages-all-image-tests
.PHONY: cloud cloud-dist static bench bench-cloud bench-serial bench-turns scale year hostile soak

help:
	@sed -n '3,/^$$/s/^# \{0,2\}//p' Makefile

run: $(VENV)/.ready-run
	@exec $(BIN)/oncegate up $(ARGUMENTS)

test: packages-all-tests $(VENV)/.ready-cloud $(VENV)/.ready-test
	@MAKE="$(MAKE)" SECOND_SAMPLE="$(SECOND_SAMPLE)" DAY="$(DAY)" exec tests/streams

test-of-the-day: $(VENV)/.ready-test
	@MAKE="$(MAKE)" exec tests/of-the-day $(DAY)

collected: $(VENV)/.ready-test
	@$(BIN)/python -m pytest -q --collect-only tests >build/test-collected.log || { cat build/test-collected.log; exit 1; }

# pytest's exit code 5 means that no test was selected: ARGUMENTS may name other tests only.
test-quiet:
	@$(BIN)/python -m pytest -q -m quiet $(or $(NAMED),tests/system/test_whole_gateway.py) $(OPTIONS) || test $$? = 5

# Runs in the order of tests/conftest.py. Exit code 5: the tests that ARGUMENTS names are all in
# other streams.
test-plain:
	@$(BIN)/python -m pytest -m "not quiet and not long" -n $(WORKERS) --dist loadfile \
		--no-loadscope-reorder --ignore=tests/cloud_jobs --sample $(SAMPLE) $(OF_THE_DAY) --durations=40 $(or $(NAMED),tests) $(OPTIONS) \
		$(if $(NAMED),|| test $$? = 5)

# Unlike this target, `make test` omits the tests that are marked long.
test-spark:
	@$(call run-in,tests/cloud_jobs,$(BIN)/python -m pytest -q $(OF_THE_DAY) --durations=10)

test-long: $(VENV)/.ready-cloud $(VENV)/.ready-test $(OBJECT_STORE)/.ready
	@exec $(BIN)/python -m pytest -m long --durations=20 $(ARGUMENTS)

# Tests the gateway with released versions of Home Assistant, Node-RED, Telegraf and Zigbee2MQTT.
real-programs: packages-test $(VENV)/.ready-test $(HOME_ASSISTANT)/.ready $(NODE_RED)/.ready \
		$(TELEGRAF)/.ready $(ZIGBEE2MQTT)/.ready
	@exec $(BIN)/python -m pytest tests/real_programs/with_*.py $(ARGUMENTS)

test-image:
	@MAKE="$(MAKE)" VENV="$(VENV)" exec tests/image/first-boot

# Runs the tests of the compiled packages, and of the code that drives them, on the compiled build.
# The tests of mutants are omitted, because a compiled function cannot be replaced. This build is
# optimised less than the one that is measured and installed, because that compiles faster.
test-compiled: $(VENV)/.ready-test build/tested/.ready
	@$(call run-in,tests/broker/wire tests/broker/core tests/broker/store tests/instruments/simulation, \
		PYTHONPATH="$(CURDIR)/build/tested:$(CURDIR)" $(BIN)/python -P -m pytest --compiled -q $(OF_THE_DAY) \
		-o pythonpath= --ignore=tests/instruments/simulation/test_mutants.py)

# `make test` runs one in SECOND_SAMPLE of these tests.
test-second-python: $(VENV)/.ready-test
	@MAKE="$(MAKE)" VENV="$(VENV)" SECOND="$(SECOND)" exec tests/second-python \
		$(if $(call rooms,$(IN_SECOND)),$(call rooms,$(IN_SECOND)) --one-in $(ONE_IN) $(OPTIONS))

check: static
	@exec $(BIN)/python -m pytest -m "not slow and not quiet and not long" -n $(WORKERS) --dist loadfile \
		--sample $(SAMPLE) --one-in $(CHECK_SAMPLE) $(ARGUMENTS)

ingest: $(VENV)/.ready-run
	@exec $(BIN)/oncegate ingest $(ARGUMENTS)

bench: packages-bench $(VENV)/.ready-run build/compiled/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.side_by_side $(ARGUMENTS)

# EVENTS=5000000 measures more events than the default of 500,000. ARGUMENTS=--write writes the
# result to docs/benchmarks-cloud.md.
bench-cloud: packages-cloud $(VENV)/.ready-cloud $(VENV)/.ready-test $(OBJECT_STORE)/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.cloud $(if $(EVENTS),--events $(EVENTS)) $(ARGUMENTS)

# ARGUMENTS=--write writes the result to docs/benchmarks-serial.md.
bench-serial: packages-test $(VENV)/.ready-test build/compiled/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.serial $(ARGUMENTS)

bench-turns: $(VENV)/.ready-run build/compiled/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.turns $(BEFORE) $(ARGUMENTS)

# ARGUMENTS="wear restart" measures only these parts.
scale: $(VENV)/.ready-test build/compiled/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.scale $(ARGUMENTS)

# ARGUMENTS="--oncegate ../other/.venv/bin/oncegate --flat" measures another checkout, without
# writing to docs.
year: $(VENV)/.ready-test
	@exec $(BIN)/python -m tests.instruments.benchmarks.year $(ARGUMENTS)

# ARGUMENTS="WrongPasswords Wills" measures only these attacks, without writing to docs.
hostile: $(VENV)/.ready-test build/compiled/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.hostile $(ARGUMENTS)

# ARGUMENTS=--write writes the result to docs/limits.md.
soak: $(VENV)/.ready-test build/compiled/.ready
	@exec $(BIN)/python -m tests.instruments.benchmarks.hostile.soak --minutes $(MINUTES) $(ARGUMENTS)

static: packages-all-tests $(VENV)/.ready-cloud $(VENV)/.ready-test
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/mypy $(SOURCES)
	@$(BIN)/lint-imports --no-cache

# Builds the .zip and the script for spark-submit, and a wheel without compiled parts for other
# uses.
cloud-dist: $(VENV)/.ready-run
	@$(BIN)/python -m cloud_jobs.distribution dist/cloud
	@ONCEGATE_COMPILE=0 $(UV) build -q --wheel --no-build-isolation -p $(BIN)/python -o dist/cloud .
	@ls dist/cloud/*.whl

wheel: $(VENV)/.ready-run
	@$(UV) build -q --wheel --no-build-isolation -p $(BIN)/python -o dist .
	@ls dist/*.whl

deb: packages-deb $(UV_VENV)/.ready
	@for arch in $(ARCH); do image/deb/build $(SUITE) $$arch; done

# Not part of `make test`, because it needs two chroots with compilers, and minutes of compiling.
deb-test: packages-deb $(VENV)/.ready-test
	@for suite in trixie bookworm; do $(MAKE) deb SUITE=$$suite; done
	@exec $(BIN)/python -m pytest tests/image/installed.py tests/image/installed_card.py $(ARGUMENTS)

container: packages-container packages-deb $(UV_VENV)/.ready
	@for arch in $(ARCH); do \
		$(MAKE) deb SUITE=trixie ARCH=$$arch; \
		nice image/container/build $$arch "$$(ls -t dist/oncegate_*~deb13_$$arch.deb | head -1)" dist; \
	done

# Tests the image for this machine's architecture, or for ARCH. Not part of `make test`, for the
# same reason as deb-test.
container-test: packages-container-test $(VENV)/.ready-test
	@arch="$(if $(filter command line,$(origin ARCH)),$(ARCH),$$(dpkg --print-architecture))"; \
	$(MAKE) container ARCH="$$arch" && \
	ONCEGATE_CONTAINER_ARCH="$$arch" exec $(BIN)/python -m pytest tests/image/container.py $(ARGUMENTS)

# A build in the folder $(1) with a compiled core, at optimisation level $(2). The first rule
# updates its extensions, the second its other sources.
define compiled-build
$(1)-wheel/.ready: hatch_build.py pyproject.toml requirements/build.txt $$(COMPILED_SOURCES) | $$(VENV)/.ready-run
	@UV="$$(UV)" PYTHON="$$(BIN)/python" exec tests/compiled-build wheel $(1) $(2)

$(1)/.ready: $(1)-wheel/.ready $$(OTHER_SOURCES)
	@UV="$$(UV)" PYTHON="$$(BIN)/python" exec tests/compiled-build tree $(1)
endef
$(eval $(call compiled-build,build/compiled,3))
$(eval $(call compiled-build,build/tested,1))

# FIRST=4711 SEEDS=1 repeats one seed, and ARGUMENTS="--scenario 3 --at 17 40" one scenario with its
# power cuts. With --compiled in ARGUMENTS the compiled build is used.
simulate: $(VENV)/.ready-test $(if $(findstring --compiled,$(ARGUMENTS)),build/compiled/.ready)
	@PYTHONPATH="$(if $(findstring --compiled,$(ARGUMENTS)),$(CURDIR)/build/compiled:)$(CURDIR)" \
		exec $(BIN)/python -P -m tests.instruments.simulation --seeds $(SEEDS) --first $(FIRST) $(ARGUMENTS)

fill: $(VENV)/.ready-test
	@exec $(BIN)/python -m tests.instruments.filling.run --fills $(FILLS) $(if $(SEED),--seed $(SEED))

kill: $(VENV)/.ready-test $(if $(findstring --compiled,$(ARGUMENTS)),build/compiled/.ready)
	@PYTHONPATH="$(if $(findstring --compiled,$(ARGUMENTS)),$(CURDIR)/build/compiled:)$(CURDIR)" \
		exec $(BIN)/python -P -m tests.system.kill --kills $(KILLS) $(if $(SEED),--seed $(SEED)) $(ARGUMENTS)

uplink-kill: $(VENV)/.ready-test
	@exec $(BIN)/python -m tests.uplink.kill --kills $(if $(filter file,$(origin KILLS)),100,$(KILLS)) $(if $(SEED),--seed $(SEED)) $(ARGUMENTS)

kill-board: packages-test $(VENV)/.ready-test
	@exec $(BIN)/python -m tests.bridge.firmware.kill --kills $(if $(filter file,$(origin KILLS)),100,$(KILLS)) $(if $(SEED),--seed $(SEED))

# Fuzzes the C decoder of the boards under ASan and UBSan.
fuzz-board: $(VENV)/.ready-test
	@exec $(BIN)/python -m tests.bridge.firmware.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

powercut: $(VENV)/.ready-test
	@exec $(BIN)/python -m tests.instruments.powercut.run --cuts $(CUTS) $(if $(SEED),--seed $(SEED)) $(ARGUMENTS)

# IMAGE_URL is the download address of the file, for Imager's list. UPDATE_CERTIFICATE and
# UPDATE_KEY are PEM files. Without them bundles are signed with a throwaway key, which the card
# then accepts.
image: image-card
	@image=$$(ls dist/oncegate-*-arm64.img); version=$${image#dist/oncegate-}; \
	nice image/pack "$$image" "$${version%-arm64.img}" $(IMAGE_URL)

image-card: packages-image
	@$(MAKE) deb ARCH=arm64
	@rm -f dist/oncegate-*-arm64.*
	@nice image/build "$$(ls -t dist/oncegate_*_arm64.deb | head -1)" dist

image-twice: image-card
	@exec image/twice

bundle: packages-image
	@slot=$$(ls dist/oncegate-*-arm64.slot.ext4); nice image/bundle "$$slot" "$${slot%.slot.ext4}.raucb"

image-test: packages-all-image-tests $(VENV)/.ready-cloud $(VENV)/.ready-test
	@ONCEGATE_IMAGE="$$PWD/$$(ls dist/oncegate-*-arm64.img)" \
		exec $(BIN)/python -m pytest tests/image/boot $(ARGUMENTS)

image-chain: packages-all-image-tests $(VENV)/.ready-cloud $(VENV)/.ready-test
	@ls dist/oncegate-*-arm64.img.xz >/dev/null 2>&1 || { echo "no compressed image in dist: run make image first"; exit 1; }
	@ONCEGATE_IMAGE="$$PWD/$$(ls dist/oncegate-*-arm64.img)" ONCEGATE_CHAIN_LOG=docs/whole-chain.md \
		exec $(BIN)/python -m pytest -s tests/image/boot/test_whole_chain.py $(ARGUMENTS)

machines: packages-machines
	@exec tests/machines/all $(ARGUMENTS)

# First generates the pages that are derived from the code, then builds all pages as a site. A dead
# link fails.
docs: $(VENV)/.ready-test
	@$(BIN)/python docs/generate.py
	@nice $(BIN)/python -m sphinx -q -W --keep-going -c docs . build/site
	@echo "build/site/index.html"

conformance: $(VENV)/.ready-test
	@exec $(BIN)/python tests/conformance.py

conformance-write: $(VENV)/.ready-test
	@exec $(BIN)/python tests/conformance.py --write

fuzz: $(VENV)/.ready-test
	@ONCEGATE_COMPILE=0 exec $(BIN)/python -m tests.instruments.fuzz --seconds $(SECONDS) $(ARGUMENTS)

format: $(VENV)/.ready-test
	@$(BIN)/ruff format $(SOURCES)
	@$(BIN)/ruff check --fix $(SOURCES)

# `oncegate ingest` runs this target if Java or PySpark is missing.
cloud: packages-cloud $(VENV)/.ready-cloud

# Commands that need several sections install them in one call, so that without root one message
# names all packages.
SECTIONS_cloud := run cloud
SECTIONS_all-tests := run test cloud
SECTIONS_all-image-tests := run test cloud deb image image-test

packages-run packages-test packages-cloud packages-bench packages-deb packages-image packages-image-test \
		packages-container packages-container-test packages-machines packages-all-tests packages-all-image-tests: packages-%:
	@$(PACKAGES) $(or $(SECTIONS_$*),$*)

$(UV_VENV)/.ready: requirements/uv.txt | packages-run
	@$(ALONE); python=$$(requirements/find-python $(PYTHON)); \
	echo "Setting up $(VENV) with $$("$$python" -V) ..."; \
	"$$python" -m venv --clear $(UV_VENV); \
	$(UV_VENV)/bin/python -m pip install -q --disable-pip-version-check --no-input --no-deps \
		--only-binary :all: --require-hashes -r requirements/uv.txt; \
	$(UV) venv -q --allow-existing -p "$$python" $(VENV); \
	touch $@

$(VENV)/.ready-run: $(UV_VENV)/.ready requirements/build.txt requirements/runtime.txt pyproject.toml | packages-run
	@$(ALONE); echo "Installing the gateway's Python packages ..."; \
	$(INSTALL) -r requirements/build.txt; \
	$(INSTALL) -r requirements/runtime.txt; \
	$(UV) pip install -q -p $(BIN)/python --no-build-isolation --no-deps -e .; \
	touch $@

$(VENV)/.ready-test: $(VENV)/.ready-run requirements/dev.txt $(MQTTJS)/package-lock.json | packages-test
	@$(ALONE); echo "Installing the tests' Python and JavaScript packages ..."; \
	$(INSTALL) -r requirements/dev.txt; \
	$(NPM) ci >/dev/null; \
	touch $@

# A server of the S3 protocol. Its libraries are older than ours, so it has its own environment.
$(OBJECT_STORE)/.ready: tests/cloud_jobs/object_store/requirements.txt | $(VENV)/.ready-run
	@$(ALONE); echo "Installing the tests' object store ..."; \
	$(UV) venv -q --allow-existing -p $(BIN)/python $(OBJECT_STORE); \
	$(UV) pip install -q -p $(OBJECT_STORE)/bin/python --require-hashes -r $<; \
	touch $@

$(HOME_ASSISTANT)/.ready: tests/real_programs/home_assistant.txt | $(VENV)/.ready-run
	@$(ALONE); tests/real_programs/install-home-assistant "$(UV)" $(HOME_ASSISTANT); touch $@

$(NODE_RED)/.ready: tests/real_programs/node_red/package-lock.json | $(VENV)/.ready-test
	@$(ALONE); $(call install-locked,node_red,$(NODE_RED),Node-RED,60)

$(ZIGBEE2MQTT)/.ready: tests/real_programs/zigbee2mqtt/package-lock.json | $(VENV)/.ready-test
	@$(ALONE); $(call install-locked,zigbee2mqtt,$(ZIGBEE2MQTT),Zigbee2MQTT,80)

# $(call install-locked,FOLDER,DIRECTORY,PROGRAM,MEGABYTES) installs an npm program with its locked
# packages.
install-locked = mkdir -p $(2); cp tests/real_programs/$(1)/package*.json $(2); \
	echo "Installing $(3) (about $(4) MB, once) ..."; \
	$(BIN)/npm --prefix $(2) ci --ignore-scripts >/dev/null || { \
		echo "$(3) could not be installed: see above which package, and whether the registry has it" >&2; exit 1; }; \
	touch $@

$(TELEGRAF)/.ready: tests/real_programs/install-telegraf | $(VENV)/.ready-run
	@$(ALONE); tests/real_programs/install-telegraf $(TELEGRAF); touch $@

$(SECOND)/.ready: requirements/build.txt requirements/runtime.txt requirements/dev.txt pyproject.toml
	@rm -rf $(SECOND); $(UV) venv -q -p "$(PYTHON)" $(SECOND); \
	for name in build runtime dev; do \
		$(UV) pip install -q -p $(SECOND)/bin/python --no-build-isolation --require-hashes -r requirements/$$name.txt; \
	done; \
	$(UV) pip install -q -p $(SECOND)/bin/python --no-build-isolation --no-deps -e .; \
	touch $@

$(VENV)/.ready-cloud: $(VENV)/.ready-run requirements/cloud.txt
	@$(ALONE); echo "Installing PySpark (about 450 MB, once) ..."; \
	$(INSTALL) -r requirements/cloud.txt; \
	touch $@

# The lock files have versions and hashes, but no download addresses. UPGRADE=--upgrade takes newer
# versions.
requirements: $(UV_VENV)/.ready
	@for name in uv runtime dev cloud build; do \
		$(UV) pip compile -q --universal --generate-hashes --python-version 3.11 --no-header \
			--no-emit-index-url --no-emit-find-links $(UPGRADE) \
			requirements/$$name.in -o requirements/$$name.txt; \
	done
	@$(MAKE) $(VENV)/.ready-test
	@$(NPM) $(if $(UPGRADE),update,install) --package-lock-only >/dev/null

clean:
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	@rm -rf $(VENV) $(MQTTJS)/node_modules .fuzz
