"""How well the embedded analyzer judges what a text says about each tool."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.quality.figures import (
    LABELS,
    Said,
    accuracy,
    differing,
    f1,
    macro_f1,
    show_confusion,
    show_reliability,
    vader,
)
from scripts.sentiment import corpus, general, tools
from scripts.sentiment.corpus import Labelled
from services.mentions.analyzers.embedded import EmbeddedAnalyzer
from services.mentions.analyzers.port import Judgement, NotJudged, Passage
from services.mentions.analyzers.tables import TOOL_TABLE, WordTable
from services.tools.matching import Span

KINDS = {
    "outage": r"outage|\bdown\b|offline|post-?mortem|incident|restor|back online",
    "security": r"vulnerab|breach|hack|exploit|zero-?day|0-?day|cve|malware|backdoor|leak|flaw|attack",
    "licence": r"licen[sc]|open.?sourc|\bbsl\b|\bagpl\b|proprietary",
    "price": r"pric|\bfree\b|cost|cheap|expensive|\bfees?\b|paywall",
    "migration": r"migrat|moving|moved|switch|rewrit|replac|ditch|leaving|\bport(?:ed|ing)\b|goodbye",
    "comparison": r"\bvs\b|versus|faster than|better than|beat|outperform|surpass|overtak|alternative|compar",
    "acquisition": r"acqui|\bbuys?\b|merge|takeover",
    "business": r"layoff|lays? off|raises|series [abc]|\bipo|revenue|profit|shares|funding|\bsue|lawsuit|antitrust",
    "opinion": r"why i|why we|hate|love|sucks|harmful|awesome|terrible|dead|great|best|worst|bad\b|good\b",
    "release": r"\d\.\d|releas|announc|launch|introduc|available|support|beta",
    "tutorial": r"how to|tutorial|guide|introduction|learn|understanding|building|writing|using",
}
NEUTRAL = (
    "{} 3.2 released",
    "How to use {} with a database",
    "An introduction to {}",
    "Notes from the {} conference",
    "Ask HN: How do you use {}?",
    "What is {} and where is it used",
    "{} announces date of annual conference",
    "Two talks about {} at the meetup on Thursday",
    "Interview with the people behind {}",
    "A plugin for {} written in Python",
)
_MAX_NAMES = 300


def judge_all(rows: Sequence[Labelled], analyzer: EmbeddedAnalyzer) -> tuple[list[Said], list[Said]]:
    """What the analyzer says about each tool, and about the whole text instead."""
    own, whole = [], []
    for row, found in zip(rows, analyzer.judge([Passage(each.text, each.names) for each in rows]), strict=True):
        for tool, label in row.labels.items():
            own.append(_said(row.text, label, found.tools[tool]))
            whole.append(_said(row.text, label, found.whole))
    return own, whole


def _said(text: str, label: int, judgement: Judgement | NotJudged) -> Said:
    if isinstance(judgement, NotJudged):
        return Said(text, label, -1)
    return Said(text, label, LABELS.index(judgement.sentiment), judgement.score)


def held_out() -> list[Labelled]:
    return [each for each in corpus.headlines() if each.is_test]


def show() -> None:
    rows = held_out()
    analyzer = EmbeddedAnalyzer()
    own, whole = judge_all(rows, analyzer)
    plain = vader()
    given = {row.text: plain(row.text) for row in rows}
    by_vader = [Said(each.text, each.label, given[each.text]) for each in own]
    print(f"What is said about each tool: {len(rows)} held-out headlines, {len(own)} labels")
    for name, said in (("VADER", by_vader), ("whole text", whole), ("each tool", own)):
        right, mixed = differing(said)
        print(
            f"{name:>12}  macro-F1 {macro_f1(said):.3f}  accuracy {accuracy(said):.3f}"
            f"  differing tones all right {right}/{mixed} = {right / mixed:.3f}"
        )
    print()
    show_confusion(own)
    print()
    show_reliability(own)
    print(f"\n{'kind':>12}{'labels':>8}{'VADER':>8}{'whole':>8}{'tool':>8}  (macro-F1)")
    for kind, pattern in KINDS.items():
        texts = {row.text for row in rows if re.search(pattern, row.text, re.I)}
        parts = [[each for each in said if each.text in texts] for said in (by_vader, whole, own)]
        print(f"{kind:>12}{len(parts[0]):8}" + "".join(f"{macro_f1(part):8.3f}" for part in parts))
    _show_bias(analyzer)
    _show_speed(rows, analyzer)


def common_names() -> list[str]:
    """The tools that our labelled headlines name most often."""
    counts = Counter(tool for row in corpus.headlines() for tool in row.names)
    return [name for name, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:_MAX_NAMES]]


def _show_bias(analyzer: EmbeddedAnalyzer) -> None:
    names = common_names()
    passages = []
    for template in NEUTRAL:
        start = template.index("{}")
        passages += [Passage(template.format(name), {"tool": (Span(start, start + len(name)),)}) for name in names]
    found = [each.tools["tool"] for each in analyzer.judge(passages)]
    bias = fmean(abs(each.polarity) for each in found if isinstance(each, Judgement))
    print(f"\nOwn-name bias: mean |polarity| {bias:.3f} ({len(names)} names in {len(NEUTRAL)} neutral sentences)")


def _show_speed(rows: Sequence[Labelled], analyzer: EmbeddedAnalyzer) -> None:
    passages = [Passage(row.text, row.names) for row in rows]
    best = 0.0
    for _ in range(5):
        start = time.process_time()
        analyzer.judge(passages)
        best = max(best, len(passages) / (time.process_time() - start))
    print(f"Speed: {best:,.0f} headlines a second on one core, all tools together")
    print(f"{TOOL_TABLE.name}: {TOOL_TABLE.stat().st_size:,} bytes, version of the analyzer {analyzer.version}")


def show_cross_validation(data: Path) -> None:
    words = WordTable(general.VERSION, general.known_words(), {})
    classes = tools.read_classes(tools.CLASSES.read_text(encoding="utf-8"))
    sets = {name: tools.examples(rows, words, classes) for name, rows in tools.training_sets(data).items()}
    found = tools.cross_validate(sets, tools.PLAN, ("headlines", "tones"))
    print(f"\nCross-validation, {tools.FOLDS} parts: each judged by a table that was trained without it")
    print(f"The model that labelled {corpus.TAUGHT.name} has seen the other parts, and nothing of part {tools.UNSEEN}")
    for name, pairs in found.items():
        _show_judged(name, pairs)
        _show_judged(f"part {tools.UNSEEN}", [each for each in pairs if tools.fold_of(each[0].text) == tools.UNSEEN])


def _show_judged(name: str, pairs: Sequence[tools.Judged]) -> None:
    said = [
        Said(example.text, example.label, max(range(len(LABELS)), key=chances.__getitem__), max(chances))
        for example, chances in pairs
    ]
    right, mixed = differing(said)
    print(
        f"{name:>12}  macro-F1 {macro_f1(said):.3f}  ({', '.join(f'{f1(said, each):.3f}' for each in range(3))})"
        f"  differing tones all right {right}/{mixed} = {right / mixed:.3f}"
    )
