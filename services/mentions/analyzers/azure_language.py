"""The analyzer over Azure AI Language, through its SDK, with opinion mining.

A tool gets the opinions whose target is one of its names, else the sentences that name it. Positive beside neutral is
positive, and negative beside neutral is negative, as the service does it for a document; both together are neutral.

The SDK is imported at the first call, so that a cold start does not pay for it. Texts are sent to the service only, and
never appear in logs, errors or reasons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from models.errors import InvalidInput, Unavailable
from models.version import USER_AGENT
from services.mentions.analyzers.port import Judgement, NotJudged, Passage, PassageJudgement
from services.tools.matching import Span

if TYPE_CHECKING:
    from azure.ai.textanalytics.aio import TextAnalyticsClient
    from azure.core.credentials_async import AsyncTokenCredential

# Limits of the service: texts in a request, characters in a text.
BATCH = 10
LONGEST_TEXT = 5120
API_VERSION = "2023-04-01"
MODEL = "latest"
_CODES = """
    af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fil fr fy ga gd gl gu ha he hi hr hu hy id it
    ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq sr
    su sv sw ta te th tr ug uk ur uz vi xh yi zh
"""
LANGUAGES = frozenset(_CODES.split())
"""The documented languages of sentiment analysis and opinion mining, without their variants."""
TIMEOUT_SECONDS = 10.0
_REFUSED = (400, 413)


@dataclass(repr=False)  # the key is a secret
class AzureLanguageAnalyzer:
    """Judges with Azure AI Language. Needs either a `key` or a `credential`, which the caller owns and closes.

    Makes one client at the first call. A new model of the service does not change `version`.
    """

    name = "azure-language"
    version = f"{API_VERSION}/opinions/{MODEL}"
    languages = LANGUAGES

    endpoint: str
    _: KW_ONLY
    key: str | None = None
    credential: AsyncTokenCredential | None = None
    budget_seconds: float = 60.0
    retries: int = 3
    retry_delay_seconds: float = 0.8
    client: TextAnalyticsClient | None = None

    def __post_init__(self) -> None:
        if (self.key is None) == (self.credential is None):
            raise InvalidInput("analyzer", "Azure AI Language takes either a key or a credential")

    async def analyze(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        found: list[PassageJudgement] = []
        for start in range(0, len(passages), BATCH):
            found += await self._judge(passages[start : start + BATCH])
        return found

    async def close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            await client.close()

    async def _judge(self, passages: Sequence[Passage]) -> list[PassageJudgement]:
        """If the service refuses a request, each of its texts is sent alone, so that only the bad one fails."""
        from azure.core.exceptions import AzureError, HttpResponseError

        try:
            # The SDK retries and obeys Retry-After, however long: the budget bounds all tries together.
            async with asyncio.timeout(self.budget_seconds):
                results = await self._opened().analyze_sentiment(
                    [
                        {"id": str(number), "language": each.language, "text": each.text[:LONGEST_TEXT]}
                        for number, each in enumerate(passages)
                    ],
                    show_opinion_mining=True,
                    model_version=MODEL,
                    disable_service_logs=True,
                )
        except HttpResponseError as error:
            if error.status_code not in _REFUSED:
                raise Unavailable(f"Azure AI Language answered {error.status_code}", _retry_after(error)) from None
            if len(passages) == 1:
                return [_not_judged(passages[0], f"refused with {error.status_code}")]
            return [judgement for each in passages for judgement in await self._judge([each])]
        except (AzureError, TimeoutError) as error:
            raise Unavailable(f"Azure AI Language did not answer: {type(error).__name__}") from None
        return [_judged(each, result) for each, result in zip(passages, results, strict=True)]

    def _opened(self) -> TextAnalyticsClient:
        if self.client is None:
            from azure.ai.textanalytics.aio import TextAnalyticsClient
            from azure.core.credentials import AzureKeyCredential

            self.client = TextAnalyticsClient(
                self.endpoint,
                self.credential or AzureKeyCredential(self.key or ""),
                api_version=API_VERSION,
                retry_total=self.retries,
                retry_backoff_factor=self.retry_delay_seconds,
                connection_timeout=TIMEOUT_SECONDS,
                read_timeout=TIMEOUT_SECONDS,
                user_agent=USER_AGENT,
            )
        return self.client


def _not_judged(passage: Passage, reason: str) -> PassageJudgement:
    return PassageJudgement(NotJudged(reason), dict.fromkeys(passage.names, NotJudged(reason)))


def _judged(passage: Passage, result: Any) -> PassageJudgement:
    """`result` has offsets in code points, as Python has."""
    if result.is_error:
        return _not_judged(passage, f"refused: {result.error.code}")
    whole = _judgement([result])
    tools: dict[str, Judgement | NotJudged] = {}
    for tool, names in passage.names.items():
        naming = [each for each in result.sentences if _overlaps(each, names)]
        targets = [opinion.target for each in naming for opinion in each.mined_opinions or ()]
        about = [each for each in targets if _overlaps(each, names)]
        tools[tool] = _judgement(about or naming) if naming else whole
    return PassageJudgement(whole, tools)


def _overlaps(part: Any, names: Iterable[Span]) -> bool:
    return any(name.start < part.offset + part.length and part.offset < name.end for name in names)


def _judgement(parts: Sequence[Any]) -> Judgement:
    """The judgement of documents, sentences or targets together."""
    sentiments = {each.sentiment for each in parts}
    scores = [each.confidence_scores for each in parts]
    negative, positive = fmean(each.negative for each in scores), fmean(each.positive for each in scores)
    polarity = max(-1.0, min(1.0, round(positive - negative, 4)))
    if sentiments == {"neutral"}:
        return Judgement("neutral", round(fmean(each.neutral for each in scores), 4), 0.0)
    if sentiments <= {"positive", "neutral"} and polarity > 0:
        return Judgement("positive", round(positive, 4), polarity)
    if sentiments <= {"negative", "neutral"} and polarity < 0:
        return Judgement("negative", round(negative, 4), polarity)
    return Judgement.mixed(negative, positive)


def _retry_after(error: Any) -> float | None:
    headers = error.response.headers if error.response is not None else {}
    try:
        return float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
