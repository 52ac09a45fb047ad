"""The analyzer over Azure AI Language, through its SDK.

The SDK is imported at the first call, so that a cold start does not pay for it. Texts are sent to the service only, and
never appear in logs, errors or reasons. A sentiment of "mixed" becomes neutral.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from models.errors import InvalidInput, Unavailable
from models.values import Sentiment
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement

if TYPE_CHECKING:
    from azure.ai.textanalytics.aio import TextAnalyticsClient
    from azure.core.credentials_async import AsyncTokenCredential

# Limits of the service: texts in a request, characters in a text.
BATCH = 10
LONGEST_TEXT = 5120
API_VERSION = "2023-04-01"
LANGUAGE = "en"
TIMEOUT_SECONDS = 10.0
_REFUSED = (400, 413)


class AzureLanguageAnalyzer:
    """Needs either a `key` or a `credential`, which the caller owns and closes. Makes one client at the first call.

    `model_version` is part of `version`. With "latest", a new model of the service does not change `version`.
    """

    name = "azure-language"

    def __init__(
        self,
        endpoint: str,
        *,
        key: str | None = None,
        credential: AsyncTokenCredential | None = None,
        model_version: str = "latest",
        budget_seconds: float = 60.0,
        retries: int = 3,
        retry_delay_seconds: float = 0.8,
    ) -> None:
        if (key is None) == (credential is None):
            raise InvalidInput("analyzer", "Azure AI Language takes either a key or a credential")
        self.version = f"{API_VERSION}/{model_version}"
        self._endpoint = endpoint
        self._key = key
        self._credential = credential
        self._model_version = model_version
        self._budget_seconds = budget_seconds
        self._retries = retries
        self._retry_delay_seconds = retry_delay_seconds
        self._client: TextAnalyticsClient | None = None

    languages = frozenset({"en"})

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        found: list[PassageJudgement] = []
        for start in range(0, len(passages), BATCH):
            batch = passages[start : start + BATCH]
            judged = await self._judge([each.text[:LONGEST_TEXT] for each in batch])
            found += [
                PassageJudgement(whole, dict.fromkeys(each.names, whole))
                for each, whole in zip(batch, judged, strict=True)
            ]
        return found

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _judge(self, texts: list[str]) -> list[Judgement | NotJudged]:
        """If the service refuses a request, each of its texts is sent alone, so that only the bad one fails."""
        from azure.core.exceptions import AzureError, HttpResponseError

        try:
            # The SDK retries and obeys Retry-After, however long: the budget bounds all tries together.
            async with asyncio.timeout(self._budget_seconds):
                results = await self._opened().analyze_sentiment(
                    texts, language=LANGUAGE, model_version=self._model_version, disable_service_logs=True
                )
        except HttpResponseError as error:
            if error.status_code not in _REFUSED:
                raise Unavailable(f"Azure AI Language answered {error.status_code}", _retry_after(error)) from None
            if len(texts) == 1:
                return [NotJudged(f"refused with {error.status_code}")]
            return [judgement for text in texts for judgement in await self._judge([text])]
        except (AzureError, TimeoutError) as error:
            raise Unavailable(f"Azure AI Language did not answer: {type(error).__name__}") from None
        return [_judgement(result) for result in results]

    def _opened(self) -> TextAnalyticsClient:
        if self._client is None:
            from azure.ai.textanalytics.aio import TextAnalyticsClient
            from azure.core.credentials import AzureKeyCredential

            self._client = TextAnalyticsClient(
                self._endpoint,
                self._credential or AzureKeyCredential(self._key or ""),
                api_version=API_VERSION,
                retry_total=self._retries,
                retry_backoff_factor=self._retry_delay_seconds,
                connection_timeout=TIMEOUT_SECONDS,
                read_timeout=TIMEOUT_SECONDS,
            )
        return self._client


def _judgement(result: Any) -> Judgement | NotJudged:
    if result.is_error:
        return NotJudged(f"refused: {result.error.code}")
    scores = result.confidence_scores
    polarity = max(-1.0, min(1.0, round(scores.positive - scores.negative, 4)))
    if result.sentiment == "neutral":
        return Judgement("neutral", float(scores.neutral), 0.0)
    if result.sentiment == "mixed" or (polarity > 0) != (result.sentiment == "positive"):
        return Judgement.mixed(scores.negative, scores.positive)
    sentiment: Sentiment = result.sentiment
    return Judgement(sentiment, float(getattr(scores, sentiment)), polarity)


def _retry_after(error: Any) -> float | None:
    headers = error.response.headers if error.response is not None else {}
    try:
        return float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
