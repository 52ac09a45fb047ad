"""The version that health shows. A test holds pyproject.toml and CHANGELOG.md to it."""

VERSION = "0.1.0"
