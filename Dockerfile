FROM python:3.12.14-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
COPY requirements-image.lock .
RUN python -m venv /venv && \
    /venv/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements-image.lock

# The documentation, which the image serves at /docs/. The generator is not in the image.
FROM python:3.12.14-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS docs
COPY --from=build /venv /venv
COPY docs/site/requirements.lock .
RUN python -m venv /venv-docs && \
    /venv-docs/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements.lock
WORKDIR /srv/wake
COPY . .
RUN WAKE_DATA=/tmp/thrown-away /venv/bin/python manage.py spectacular \
        --format openapi-json --file /tmp/openapi.json && \
    /venv-docs/bin/python docs/site/build.py /tmp/openapi.json built-docs

FROM python:3.12.14-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
# Only the git remote for checkpoints of the log needs these programs (docs/log.md).
ARG WITH_GIT=
RUN if [ -n "$WITH_GIT" ]; then \
        apt-get update && \
        apt-get install --yes --no-install-recommends git openssh-client && \
        rm -rf /var/lib/apt/lists/*; \
    fi
# The group needs a name, or Celery would take it for root's and warn.
RUN groupadd --system --gid 10001 wake && \
    useradd --system --uid 10001 --gid wake --create-home --home-dir /var/lib/wake wake
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /venv /venv
WORKDIR /srv/wake
COPY . .
COPY --from=docs /srv/wake/built-docs built-docs
# Without secrets the settings generate some. These are removed at once.
RUN WAKE_DATA=/tmp/thrown-away python manage.py collectstatic --noinput --verbosity 0 && \
    rm -r /tmp/thrown-away
ENV WAKE_DATA=/var/lib/wake
# By number, because Kubernetes (runAsNonRoot) refuses a name, which could be root's.
USER 10001:10001
EXPOSE 8000
# For web and stream. docker-compose.yml has another check for worker and beat.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["python", "-c", \
    "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ.get(\"PORT\") or 8000}/healthz', timeout=5)"]
# The release workflow passes these, so that an image says what it was built from.
ARG VERSION=unreleased
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="Wake" \
    org.opencontainers.image.description="The inbox where people answer their AI agents." \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$REVISION" \
    org.opencontainers.image.source="$SOURCE"
ENTRYPOINT ["python", "manage.py"]
CMD ["up", "web", "--host", "0.0.0.0"]
