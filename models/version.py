"""The version that health shows. A test checks that pyproject.toml and CHANGELOG.md have the same."""

VERSION = "0.1.0"
USER_AGENT = f"toolpulse/{VERSION}"
"""What requests to Azure name beside the SDK."""
