# toolpulse on one machine, without Azure: docs/self-hosting.md. CI has no Docker and does not build this file: a test copies
# what it copies, and runs its commands (tests/functional/package/test_image.py).
FROM python:3.13.9-slim-bookworm@sha256:b685a4fa58bb19d1814d78a1ec0f0208f351452724f78b20212c984d6e124a34 AS packages
RUN python -m venv /packages
COPY requirements.txt requirements-cli.txt ./
RUN /packages/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes \
    --requirement requirements.txt --requirement requirements-cli.txt

FROM python:3.13.9-slim-bookworm@sha256:b685a4fa58bb19d1814d78a1ec0f0208f351452724f78b20212c984d6e124a34
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin toolpulse \
 && install --directory --owner toolpulse --group toolpulse --mode 0700 /data
COPY --from=packages /packages /packages
WORKDIR /app
COPY function_app.py host.json ./
COPY models models/
COPY services services/
COPY triggers triggers/
COPY config config/
COPY scripts scripts/
COPY toolpulse toolpulse/
ENV PATH=/packages/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN python -m compileall -q models services triggers scripts toolpulse
USER 10001:10001
VOLUME /data
EXPOSE 7071
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["python", "-m", "scripts.health", "http://127.0.0.1:7071"]
ENTRYPOINT ["python", "scripts/serve.py", "--host", "0.0.0.0", "--port", "7071", "--data", "/data"]
