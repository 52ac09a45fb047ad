"""What holds for any text and any answers."""

from hypothesis import given
from hypothesis import strategies as st

from models.values import Sentiment
from services.analysis.analyzers.embedded import judge
from services.analysis.analyzers.port import Judgement, NotJudged
from services.analysis.analyzers.table import shipped_table
from services.analysis.scoring import Bearing, Names, ask, combine, conclude
from services.analysis.sentences import Span, split_sentences

PROSE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "Alpha",
                "Node.js",
                "fails",
                ".",
                "!",
                "\n\n",
                " ",
                " ",
                "Inc.",
                "…",
                "losses",
                "rise",
                "not",
                "`",
                "$FB",
                ":)",
            ]
        ),
        st.text(max_size=5),
    ),
    max_size=40,
).map("".join)
CHANCES = st.tuples(*[st.floats(0.01, 1.0)] * 3)


@st.composite
def judgements(draw: st.DrawFn) -> Judgement:
    """With one sentiment that is clearly the likeliest."""
    place = draw(st.integers(0, 2))
    chances = list(draw(CHANCES))
    chances[place] = max(chances) + draw(st.floats(0.1, 1.0))
    negative, neutral, positive = (each / sum(chances) for each in chances)
    sentiments: tuple[Sentiment, ...] = ("negative", "neutral", "positive")
    return Judgement(sentiments[place], max(negative, neutral, positive), positive - negative)


@st.composite
def texts_with_names(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(PROSE)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    return text, [Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]


@given(texts_with_names())
def test_sentences_are_ordered_apart_and_leave_out_only_space(case: tuple[str, list[Span]]) -> None:
    text, names = case
    sentences = split_sentences(text, names)
    place = 0
    for start, end in sentences:
        assert place <= start < end <= len(text)
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        place = end
    assert not text[place:].strip()


@given(texts_with_names())
def test_no_sentence_ends_inside_a_name(case: tuple[str, list[Span]]) -> None:
    text, names = case
    for _, end in split_sentences(text, names)[:-1]:
        assert not any(name.start < end < name.end and text[end : name.end].strip() for name in names)


@given(PROSE)
def test_a_judgement_is_within_its_bounds_and_the_same_again(text: str) -> None:
    found = judge(text, shipped_table())
    assert 0.0 <= found.score <= 1.0
    assert -1.0 <= found.polarity <= 1.0
    assert found == judge(text, shipped_table())


@given(st.lists(st.tuples(judgements(), st.floats(0.1, 5.0)), min_size=1, max_size=8))
def test_what_is_combined_lies_between_its_parts(parts: list[tuple[Judgement, float]]) -> None:
    found = combine([Bearing(place, weight) for place, (_, weight) in enumerate(parts)], [each for each, _ in parts])
    assert isinstance(found, Judgement)
    assert 0.0 <= found.score <= 1.0
    polarities = [each.polarity for each, _ in parts]
    assert min(polarities) - 1e-3 <= found.polarity <= max(polarities) + 1e-3
    if len({each.sentiment for each, _ in parts}) == 1:
        assert found.sentiment == parts[0][0].sentiment


@given(judgements(), st.floats(0.1, 5.0))
def test_one_judgement_alone_is_kept(judgement: Judgement, weight: float) -> None:
    found = combine([Bearing(0, weight)], [judgement])
    assert isinstance(found, Judgement)
    assert found.sentiment == judgement.sentiment
    assert abs(found.score - judgement.score) < 1e-3
    assert abs(found.polarity - judgement.polarity) < 1e-3


@given(PROSE, texts_with_names(), st.data())
def test_every_question_has_an_answer_for_each_tool(
    headline: str, case: tuple[str, list[Span]], data: st.DataObject
) -> None:
    text, spans = case
    names = {"a": Names((), tuple(spans)), "b": Names((Span(0, len(headline)),) if headline else (), ())}
    questions = ask(headline, text, names)
    answers = data.draw(
        st.lists(
            st.one_of(judgements(), st.just(NotJudged("no"))),
            min_size=len(questions.texts),
            max_size=len(questions.texts),
        )
    )
    scores = conclude(questions, answers)
    assert scores.tools.keys() == names.keys()
    assert len(set(questions.texts)) == len(questions.texts)
