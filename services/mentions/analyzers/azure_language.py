"""The analyzer port over Azure AI Language, through its SDK: `pip install azure-ai-textanalytics` (optional).

The SDK is imported at the first call, since a cold start pays for it. Texts go to the service and to nowhere else: not
into logs, errors or reasons. What it calls mixed is neutral here, with its polarity kept.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from models.errors import InvalidInput, Unavailable
from models.values import Sentiment
from services.mentions.analyzers.port import Judgement, NotJudged

if TYPE_CHECKING:
    from azure.ai.textanalytics.aio import TextAnalyticsClient
    from azure.core.credentials_async import AsyncTokenCredential

# Limits of the service, for one request and for one text.
BATCH = 10
LONGEST_TEXT = 5120
API_VERSION = "2023-04-01"
_TOO_MUCH_OR_WRONG = (400, 413)


class AzureLanguageAnalyzer:
    """One client, made at the first call, in the loop that makes it.

    With `key`, or with a `credential`, which the caller owns and closes. `model_version` is part of `version`: pin it,
    or a new model of the service goes unseen.
    """

    name = "azure-language"

    def __init__(
        self,
        endpoint: str,
        *,
        key: str | None = None,
        credential: AsyncTokenCredential | None = None,
        model_version: str = "latest",
        language: str = "en",
        timeout_seconds: float = 10.0,
        budget_seconds: float = 60.0,
        retries: int = 3,
        retry_delay_seconds: float = 0.8,
    ) -> None:
        if (key is None) == (credential is None):
            raise InvalidInput("analyzer", "Azure AI Language takes either a key or a credential")
        if importlib.util.find_spec("azure.ai") is None:
            raise InvalidInput("analyzer", "Azure AI Language needs the package azure-ai-textanalytics")
        self.version = f"{API_VERSION}/{model_version}"
        self._endpoint = endpoint
        self._key = key
        self._credential = credential
        self._model_version = model_version
        self._language = language
        self._timeout_seconds = timeout_seconds
        self._budget_seconds = budget_seconds
        self._retries = retries
        self._retry_delay_seconds = retry_delay_seconds
        self._client: TextAnalyticsClient | None = None

    async def analyze(self, texts: Sequence[str]) -> list[Judgement | NotJudged]:
        found: list[Judgement | NotJudged] = []
        for start in range(0, len(texts), BATCH):
            found += await self._judge([text[:LONGEST_TEXT] for text in texts[start : start + BATCH]])
        return found

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _judge(self, texts: list[str]) -> list[Judgement | NotJudged]:
        """A request that is refused whole is asked again text by text, so that the bad one fails alone."""
        from azure.core.exceptions import AzureError, HttpResponseError

        try:
            # The SDK retries and obeys Retry-After, however long that is: the budget ends it.
            async with asyncio.timeout(self._budget_seconds):
                results = await self._ready().analyze_sentiment(
                    texts, language=self._language, model_version=self._model_version, disable_service_logs=True
                )
        except HttpResponseError as error:
            if error.status_code not in _TOO_MUCH_OR_WRONG:
                raise Unavailable(_said(error.status_code), _retry_after(error)) from None
            if len(texts) == 1:
                return [NotJudged(f"refused with {error.status_code}")]
            return [answer for text in texts for answer in await self._judge([text])]
        except (AzureError, TimeoutError) as error:
            raise Unavailable(f"Azure AI Language did not answer: {type(error).__name__}") from None
        return [_answer(result) for result in results]

    def _ready(self) -> TextAnalyticsClient:
        if self._client is None:
            from azure.ai.textanalytics.aio import TextAnalyticsClient
            from azure.core.credentials import AzureKeyCredential

            if self._credential is not None:
                credential: AzureKeyCredential | AsyncTokenCredential = self._credential
            else:
                credential = AzureKeyCredential(self._key or "")
            self._client = TextAnalyticsClient(
                self._endpoint,
                credential,
                api_version=API_VERSION,
                retry_total=self._retries,
                retry_backoff_factor=self._retry_delay_seconds,
                connection_timeout=self._timeout_seconds,
                read_timeout=self._timeout_seconds,
            )
        return self._client


def _answer(result: Any) -> Judgement | NotJudged:
    if result.is_error:
        return NotJudged(f"refused: {result.error.code}")
    chances = result.confidence_scores
    polarity = max(-1.0, min(1.0, round(chances.positive - chances.negative, 4)))
    if result.sentiment == "mixed":
        return Judgement("neutral", round(1 - abs(polarity), 4), polarity)
    sentiment: Sentiment = result.sentiment
    return Judgement(sentiment, float(getattr(chances, sentiment)), polarity)


def _said(status: int | None) -> str:
    return f"Azure AI Language answered {status}"


def _retry_after(error: Any) -> float | None:
    headers = error.response.headers if error.response is not None else {}
    try:
        return float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
