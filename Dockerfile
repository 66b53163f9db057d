FROM python:3.12.14-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
COPY requirements-image.lock .
RUN python -m venv /venv && \
    /venv/bin/python -m pip install --no-cache-dir --require-hashes --requirement requirements-image.lock

FROM python:3.12.14-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
# Only the git remote for checkpoints of the log needs these programs (docs/log.md).
ARG WITH_GIT=
RUN if [ -n "$WITH_GIT" ]; then \
        apt-get update && \
        apt-get install --yes --no-install-recommends git openssh-client && \
        rm -rf /var/lib/apt/lists/*; \
    fi
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/wake wake
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /venv /venv
WORKDIR /srv/wake
COPY . .
# Without secrets the settings generate some. These are removed at once.
RUN WAKE_DATA=/tmp/thrown-away python manage.py collectstatic --noinput --verbosity 0 && \
    rm -r /tmp/thrown-away
ENV WAKE_DATA=/var/lib/wake
USER wake
EXPOSE 8000
ENTRYPOINT ["python", "manage.py"]
CMD ["up", "web", "--host", "0.0.0.0"]
