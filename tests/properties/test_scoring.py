"""Passages name the tools where the article does, and every score's sentiment and polarity agree."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from models.values import agrees
from services.mentions.analyzers.port import Judgement, PassageJudgement
from services.mentions.scoring import MAX_SENTENCES, ask, conclude
from services.tools.detector import Detected
from services.tools.matching import Span

NAMES = ("Alpha", "Yahoo! Inc.", "C#")
texts = st.lists(st.sampled_from([*NAMES, "beats", "is", "bad.", "Good!", "e.g.", "\n\n", "。", "-", "x"]), max_size=60)


def places(text: str) -> dict[str, tuple[Span, ...]]:
    return {name: tuple(Span(*each.span()) for each in re.finditer(re.escape(name), text)) for name in NAMES}


def probabilities(draw: st.DrawFn) -> Judgement:
    weights = draw(st.tuples(*[st.floats(0.001, 1)] * 3))
    total = sum(weights)
    return Judgement.of(*(each / total for each in weights))


judgements = st.composite(probabilities)()


@given(texts, texts, st.sets(st.sampled_from(NAMES)), st.data())
def test_passages_and_scores_of_any_article(
    words: list[str], more: list[str], only: set[str], data: st.DataObject
) -> None:
    headline, text = " ".join(words), " ".join(more)
    in_headline, in_text = places(headline), places(text)
    named = [name for name in NAMES if in_headline[name] or in_text[name]]
    detected = {name: Detected((), in_headline[name], in_text[name]) for name in named}
    questions, some = ask(headline, text, detected), ask(headline, text, detected, only)
    assert len(questions.passages) == len({(each.text, str(each.names)) for each in questions.passages})
    for passage in questions.passages:
        assert passage.text in (headline, text) or passage.text in text
        for name, spans in passage.names.items():
            assert [passage.text[start:end] for start, end in spans] == [name] * len(spans)
            assert spans == places(passage.text)[name]
    for name, weighed in questions.tools.items():
        assert weighed, "a tool that the article names has a passage"
        assert len(weighed) <= MAX_SENTENCES + 1
        assert all(name in questions.passages[each.passage].names for each in weighed)
        if name in only:
            alone = [(some.passages[each.passage], each.weight) for each in some.tools[name]]
            assert alone == [(questions.passages[each.passage], each.weight) for each in weighed]
    assert some.tools.keys() == detected.keys() & only

    judged = []
    for passage in questions.passages:
        tools = {name: data.draw(judgements) for name in passage.names}
        judged.append(PassageJudgement(data.draw(judgements), tools))
    scores = conclude(questions, judged)
    for score in (*scores.tools.values(), *([scores.article] if questions.article else [])):
        assert isinstance(score, Judgement)
        assert 0 <= score.score <= 1
        assert agrees(score.sentiment, score.polarity)
