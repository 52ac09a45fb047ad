"""The analyzers that the settings allow. Each is imported when it is first needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import InvalidInput
from services.container.adapters import NewCredential
from services.mentions.analyzers.choice import Analyzers
from services.settings import Settings

if TYPE_CHECKING:
    from services.mentions.analyzers.port import Analyzer


def analyzers_of(settings: Settings, credential: NewCredential) -> Analyzers:
    def embedded() -> Analyzer:
        from services.mentions.analyzers.embedded import EmbeddedAnalyzer

        return EmbeddedAnalyzer()

    def candidate() -> Analyzer:
        from services.mentions.analyzers.embedded import EmbeddedAnalyzer
        from services.mentions.analyzers.tables import parse_tool_table, unpacked

        if not settings.sentiment_candidate_file:
            raise InvalidInput("analyzer", "candidate needs SENTIMENT_CANDIDATE_FILE")
        try:
            text = unpacked(Path(settings.sentiment_candidate_file))
            return EmbeddedAnalyzer(tool_table=parse_tool_table(text))
        except (OSError, EOFError, ValueError) as error:
            raise InvalidInput("analyzer", f"the table of candidate cannot be read: {error}") from None

    def azure_language() -> Analyzer:
        from services.mentions.analyzers.azure_language import AzureLanguageAnalyzer

        if not settings.azure_language_endpoint:
            raise InvalidInput("analyzer", "azure-language needs AZURE_LANGUAGE_ENDPOINT")
        return AzureLanguageAnalyzer(
            settings.azure_language_endpoint,
            key=settings.azure_language_key or None,
            credential=None if settings.azure_language_key else credential(),
        )

    makers = {"embedded": embedded, "azure-language": azure_language, "candidate": candidate}
    return Analyzers(settings.analyzer, makers)
