# Needs Python 3.11 or later, make and git. `make` alone lists the targets.

PYTHON = python3 python3.14 python3.13 python3.12 python3.11 python
VENV = .venv
BIN = $(VENV)/bin
DOCS = .venv-docs

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help run demo test system peers coverage soak check bench drill conformance docs figures golden pictures fmt lock audit sbom

help: ## lists the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "%-16s%s\n", $$1, $$2 }'

run: $(VENV)/.installed ## sets up what is missing, then runs Wake until Ctrl-C
	@exec $(BIN)/python manage.py up

demo: $(VENV)/.installed ## fills the inbox with a realistic week
	@$(BIN)/python manage.py migrate --verbosity 0
	@$(BIN)/python manage.py demo

test: $(VENV)/.installed-dev ## runs the tests, on SQLite and, if it answers, on PostgreSQL
	@$(BIN)/python -m tests.suite test

system: $(VENV)/.installed-dev ## runs the tests that run whole servers, proxies or official SDKs
	@$(BIN)/python -m tests.suite system

peers: $(VENV)/.installed-dev ## runs the tests that install agent frameworks
	@$(BIN)/python -m tests.suite peers

coverage: $(VENV)/.installed-dev ## measures how much of accounts, database, pages and wake their own tests reach
	@$(BIN)/python -m tests.suite coverage

soak: $(VENV)/.installed-dev ## runs the long tests: load while parts fail, kill -9, fuzzing
	@mkdir -p test-results
	@$(BIN)/python -m tests.soak 2>test-results/soak.log

# The settings of a safe production environment. The servers that they name do not exist.
PRODUCTION = env WAKE_DEV= WAKE_ORIGIN=https://wake.example.com WAKE_DATA=/nonexistent \
	WAKE_SECRET_KEY=made-up-for-checks-0123456789abcdefghijklmnopqrstuvwxyz \
	WAKE_ENCRYPTION_KEYS=made-up-for-checks-0123456789abcdefghijklmnopqrstuvwxyz \
	DATABASE_URL=postgresql://nobody@127.0.0.1:1/nothing REDIS_URL=redis://127.0.0.1:1/0

check: $(VENV)/.installed-dev ## checks format, lint, types, imports, migrations, deployment
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/python manage.py makemigrations --check --dry-run --settings tests.settings
	$(PRODUCTION) $(BIN)/python manage.py check --deploy --fail-level WARNING

bench: $(VENV)/.installed-dev ## compares deliveries, polls and sweeps with a lean server and PostgreSQL alone
	@$(BIN)/python -m bench

drill: $(VENV)/.installed-dev ## measures ten million deliveries, or fewer (make drill DELIVERIES=100000)
	@$(BIN)/python -m bench.drill $(DELIVERIES) $(if $(KEEP),--keep)

docs: $(VENV)/.installed $(DOCS)/.installed ## builds the documentation, which a server serves at /docs/ from its next start
	@WAKE_DATA=$(DOCS)/data $(BIN)/python manage.py spectacular \
		--format openapi-json --file $(DOCS)/openapi.json
	@$(DOCS)/bin/python docs/site/build.py $(DOCS)/openapi.json built-docs

# The second command writes the lists of files, which come from requests that a test traces on
# PostgreSQL.
conformance: $(VENV)/.installed-dev ## judges this server by its protocol, and writes docs/conformance.md
	@WAKE_WRITE_CONFORMANCE=1 $(BIN)/python -m pytest --quiet tests/check/test_own_server.py

figures: $(VENV)/.installed-dev ## measures the code, for docs/architecture.md
	@$(BIN)/python tests/architecture/figures.py
	@DATABASE_URL=$${DATABASE_URL:-postgresql://postgres@127.0.0.1:5432/} WAKE_WRITE_FIGURES=1 \
		$(BIN)/python -m pytest --quiet tests/architecture/test_flows.py

golden: $(VENV)/.installed-dev ## renders the golden files of the Helm chart again
	@WAKE_WRITE_GOLDEN=1 $(BIN)/python -m pytest --quiet tests/deploy/test_helm.py

pictures: $(VENV)/.installed-dev ## takes the pictures of the README again, in Chromium
	@$(BIN)/python -m tests.pictures

fmt: $(VENV)/.installed-dev ## formats the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

audit: $(VENV)/.installed-dev ## compares the locked dependencies with vulnerabilities on PyPI
	@$(BIN)/python -m tests.advisories

sbom: $(VENV)/.installed-dev ## lists the locked dependencies in sbom.cdx.json (CycloneDX)
	@$(BIN)/cyclonedx-py requirements requirements-image.lock --pyproject pyproject.toml --output-reproducible --of JSON --output-file sbom.cdx.json

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-strip-extras --no-header --no-annotate

lock: $(VENV)/.installed-dev ## rewrites the lock files from pyproject.toml, and that of the documentation
	$(LOCK) pyproject.toml --output-file requirements.lock
	$(LOCK) pyproject.toml --extra otel --extra scim --extra sentry --extra timestamps --constraint requirements.lock --output-file requirements-image.lock
	$(LOCK) pyproject.toml --group dev --constraint requirements.lock --output-file requirements-dev.lock
	$(BIN)/python deploy/locks.py requirements-image.lock requirements-dev.lock
	$(LOCK) docs/site/requirements.in --output-file docs/site/requirements.lock

# An environment of its own, so that the others have no generator of pages.
$(DOCS)/.installed: docs/site/requirements.lock $(VENV)/.installed
	@$(BIN)/python -m venv --clear $(DOCS)
	@echo "Installing from $<; this happens again only when it changes."
	@$(DOCS)/bin/python -m pip install --quiet --require-hashes --requirement $<
	@touch $@

$(VENV)/.installed: requirements.lock
$(VENV)/.installed-dev: requirements-dev.lock

$(VENV)/.installed $(VENV)/.installed-dev:
	@python=; for name in $(PYTHON); do \
		if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
		then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "Wake needs Python 3.11 or later; tried: $(PYTHON)." >&2; \
		echo "Install one, or say where it is: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ rm -f $(VENV)/.installed $(VENV)/.installed-dev; $$python -m venv --clear $(VENV); } || { \
		echo "$$python cannot make a virtual environment: on Debian and Ubuntu, install python3-venv." >&2; exit 1; \
	}
	@echo "Installing from $<; this takes a minute, and happens again only when it changes."
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement $<
	@touch $@
