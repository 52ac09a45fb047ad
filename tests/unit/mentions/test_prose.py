"""What is not prose is replaced by spaces of the same length; all else stays where it was."""

import pytest

from services.articles.identity import MAX_TEXT, normalize_headline
from services.mentions import prose as rules
from services.mentions.prose import headline_prose, prose_of, text_prose
from services.parse.text import html_to_text
from tests.documents import article, attribution, reading


def headline(text: str, *publishers: str, url: str = "", normalized: str = "") -> str:
    blanked = headline_prose(text, publishers, url, normalized)
    assert len(blanked) == len(text)
    assert all(after in (before, " ") for before, after in zip(text, blanked, strict=True))
    return blanked.strip()


def body(text: str) -> str:
    blanked = text_prose(text)
    assert len(blanked) == len(text)
    assert all(after in (before, " ") for before, after in zip(text, blanked, strict=True))
    return " ".join(blanked.split())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Kubernetes 1.31 is out - The Hacker News", "Kubernetes 1.31 is out"),
        ("Kubernetes 1.31 is out | TechCrunch", "Kubernetes 1.31 is out"),
        ("Kubernetes 1.31 is out \u2014 Reuters", "Kubernetes 1.31 is out"),
        ("Kubernetes 1.31 is out :: Slashdot", "Kubernetes 1.31 is out"),
        ("Kubernetes 1.31 is out \u00bb TechCrunch", "Kubernetes 1.31 is out"),
        ("Kubernetes 1.31 is out - Reuters | CNBC", "Kubernetes 1.31 is out"),
        ("BBC News - Kubernetes 1.31 is out", "Kubernetes 1.31 is out"),
        ("Ars Technica: Kubernetes 1.31 is out", "Kubernetes 1.31 is out"),
        ("CNBC: Kubernetes 1.31 is out", "Kubernetes 1.31 is out"),
        ("TechCrunch | Kubernetes 1.31 is out", "Kubernetes 1.31 is out"),
        ("The Verge \u2013 Kubernetes 1.31 is out", "Kubernetes 1.31 is out"),
        ("Moving from Slack - Discord", "Moving from Slack - Discord"),
        ("Docker vs. Podman | Kubernetes", "Docker vs. Podman | Kubernetes"),
        ("Axios: critical flaw in the HTTP client", "Axios: critical flaw in the HTTP client"),
        ("TechCrunch", "TechCrunch"),
        ("- TechCrunch", "- TechCrunch"),
        ("A look at Apple Insider", "A look at Apple Insider"),
    ],
)
def test_a_well_known_publisher_at_an_end_is_not_prose_unless_it_may_be_the_headline_proper(
    text: str, left: str
) -> None:
    assert headline(text) == left


def test_the_publishers_of_the_article_are_not_prose() -> None:
    assert headline("Bun 2 is out - Daily Dev", "Daily Dev") == "Bun 2 is out"
    assert headline("Bun 2 is out - The Daily Dev", "daily dev") == "Bun 2 is out"
    assert headline("Bun 2 is out - Daily Dev", "Weekly Dev") == "Bun 2 is out - Daily Dev"
    assert headline("Bun 2 is out - !!!", "!!!") == "Bun 2 is out - !!!"
    assert headline("GitLab - 17.2 is out", "GitLab") == "GitLab - 17.2 is out", "the product, not the publisher"


def test_the_site_is_a_publisher() -> None:
    for url in ("https://www.dailydev.example/1", "https://blog.dailydev.co.uk/1"):
        assert headline("Bun 2 is out | Daily Dev", url=url) == "Bun 2 is out"
    for host in ("dailydev.com.au", "dailydev.org.uk", "dailydev.net.nz", "thedailydev.example"):
        assert headline("Bun 2 is out | The Daily Dev", url=f"https://{host}/1") == "Bun 2 is out"
    assert headline("Bun 2 is out | Blog", url="https://blog.dailydev.example/1") == "Bun 2 is out | Blog"
    for url in ("", "https://[", "https://other.example/1", "https://com/"):
        assert headline("Bun 2 is out | Daily Dev", url=url) == "Bun 2 is out | Daily Dev"


def test_what_ingestion_left_out_as_a_name_is_not_prose() -> None:
    normalized = normalize_headline("Bun 2 is out")
    assert headline("Bun 2 is out - Notes of a developer", normalized=normalized) == "Bun 2 is out"
    assert headline("Bun 2 is out - Notes", normalized="bun 2 is out notes") == "Bun 2 is out - Notes"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # the ending of a text that was cut
        ("It is faster. The post Bun 2 is out appeared first on TechCrunch.", "It is faster."),
        ("It is faster. This article was originally published on Apple Insider.", "It is faster."),
        ("It is faster. The post Bun 2 is out. What now? appeared first on TechCrunch.", "It is faster."),
        ("It is faster and it\u2026 Continue reading Bun 2 is out \u2192", "It is faster and it\u2026"),
        ("It is faster. Read more", "It is faster."),
        ("It is faster. Read more of this story at Slashdot.", "It is faster."),
        ("It is faster and [...]", "It is faster and"),
        ("It is faster and [\u2026] The post Bun 2 appeared first on The Hacker News.", "It is faster and"),
        ("Read more books than you write.", "Read more books than you write."),
        ("This post compares two. Slack is slow. It was published on GitHub.",) * 2,
        ("It is faster. Source: Apple Insider", "It is faster."),
        ("Open Source: Slack opens its tools. It is free.", "Open Source: Slack opens its tools. It is free."),
        # what aggregators add
        ("Comments", ""),
        ("Article URL: https://x.example/1", ""),
        ("Article URL: https://x.example/1 Comments URL: https://y.example/2 Points: 47 # Comments: 7", ""),
        ("It is fast. submitted by /u/some-one to r/programming [link] [12 comments]", "It is fast."),
        ("Comments are closed on GitHub", "Comments are closed on GitHub"),
        # invitations
        ("It is fast. Share on Facebook Share on Twitter Share on LinkedIn", "It is fast."),
        ("It is fast. Share this article on Facebook, Twitter and Reddit", "It is fast."),
        ("It is fast. Follow us on Twitter and Facebook.", "It is fast."),
        ("It is fast. Sign up for our newsletter.", "It is fast."),
        ("Subscribe to the weekly newsletter of the team! It is fast.", "It is fast."),
        ("It is fast. Share: Facebook Twitter LinkedIn", "It is fast."),
        ("It is fast. Listen on Apple Podcasts.", "It is fast."),
        ("It is fast. Click to share on Twitter (Opens in new window)", "It is fast."),
        ("It is fast. View this post on Instagram", "It is fast."),
        ("It is fast. Join our Slack community.", "It is fast."),
        ("It is fast. Download our app from the App Store.", "It is fast."),
        ("Slack joins Discord on Linux. It is fast.", "Slack joins Discord on Linux. It is fast."),
        ("Shares of Facebook fell. It is slow.", "Shares of Facebook fell. It is slow."),
        # bylines, datelines and credits
        ("SAN FRANCISCO (Reuters) - Apple fell.", "Apple fell."),
        ("NEW YORK, April 13 (Reuters) - Apple fell.", "Apple fell."),
        ("(Bloomberg) -- Apple fell.", "Apple fell."),
        ("By Jane Doe | Apple fell.", "Apple fell."),
        ("By Jane Doe (AP) Apple fell.", "Apple fell."),
        ("By Jane Doe and John A. Smith, Reuters - Apple fell.", "Apple fell."),
        ("By Jane Doe Published today. Apple fell.", "Published today. Apple fell."),
        ("Apple fell. (Reporting by Jane Doe in Berlin; Editing by John Smith)", "Apple fell."),
        ("Written by Jane Doe. Apple fell.", "Apple fell."),
        ("Apple fell. Image Credits: Jane Doe / Getty Images", "Apple fell."),
        ("Apple fell. Photo by Jane Doe on Unsplash", "Apple fell."),
        ("Apple fell. \u00a9 2026 Reuters. All rights reserved.", "Apple fell."),
        ("Apple fell. Copyright suits against OpenAI pile up", "Apple fell. Copyright suits against OpenAI pile up"),
        ("The tool is written by Google Cloud. It is fast.", "The tool is written by Google Cloud. It is fast."),
        ("Apple (AAPL) - fell again.", "Apple (AAPL) - fell again."),
    ],
)
def test_what_is_not_prose_is_left_out(text: str, left: str) -> None:
    assert body(text) == left


PYTHON = 'Traceback (most recent call last): File "a.py", line 3, in run slack.send() httpx.ConnectError: no route'
JAVA = (
    'Exception in thread "main" java.lang.IllegalStateException: Kafka failed at com.example.Kafka.send(Kafka.java:42) '
    "at java.base/java.lang.Thread.run(Thread.java:840)"
)
JAVASCRIPT = "TypeError: slack is undefined at Object.<anonymous> (/app/slack.js:3:5) at node:internal/main/run.js:12:7"
C_SHARP = r"System.NullReferenceException: no Slack at Example.Slack.Send(String text) in C:\src\Slack.cs:line 42"
GO = "panic: slack failed goroutine 1 [running]: main.send(0x1) /app/slack.go:12 +0x1d"


FRAME = "at file:///app/slack.js:3:5"
ROUTINE = "panic: slack failed goroutine 1 [running]:"


@pytest.mark.parametrize("trace", [PYTHON, JAVA, JAVASCRIPT, C_SHARP, GO, FRAME, ROUTINE])
def test_stack_traces_are_not_prose(trace: str) -> None:
    left = body(f"It fails. {trace}")
    assert left.startswith("It fails.")
    assert not any(word in left.lower() for word in ("slack", "kafka", "error", "exception", "panic"))


def test_code_blocks_are_not_prose_and_inline_code_is() -> None:
    code = "<pre><code>docker run --rm x; if (y) { z(); }</code></pre>"
    markup = f"<p>Run <code>terraform apply</code> so:</p>{code}<p>Done.</p>"
    assert body(html_to_text(markup)) == "Run terraform apply so: Done."
    assert body("Before ``` x = {a: [1]}; ``` after") == "Before after"


def test_prose_in_a_block_for_code_is_prose() -> None:
    mail = "The new release of the server fixes two bugs that we found last week, thanks to all of you."
    assert body(html_to_text(f"<pre>{mail}</pre>")) == mail
    assert body("``` docker run ```") == "", "a few words are a command"


def test_the_bounds_of_code() -> None:
    few = " ".join(["word"] * (rules.FEWEST_WORDS_OF_PROSE - 1))
    assert body(f"``` {few} ```") == ""
    assert body(f"``` {few} word ```") == f"{few} word"
    words = "one two three four five six seven eight nine ten"
    block = f" {words} ;;;; {'x' * 45}"
    assert len(block) == 100
    assert body(f"```{block}```") == "", "four symbols in a hundred characters"
    assert body(f"```{block.replace(';;;;', ';;;,')}```") != ""
    assert (rules.CODE_SYMBOLS, rules.FEWEST_WORDS_OF_PROSE) == (0.04, 8)


@pytest.mark.parametrize(
    "part",
    [
        "at a.b(",
        "The post ",
        "x.",
        "/a.go:",
        "goroutine 1 [",
        "By A",
        "Share on Facebook ",
        "Read more ",
        "[...] ",
        "```",
        'Traceback (most recent call last): File "a", line 1',
        "panic: goroutine ",
        "aaaa.Error .js:",
        " - ",
    ],
)
def test_a_hostile_text_takes_no_long_time(part: str) -> None:
    text = (part * MAX_TEXT)[:MAX_TEXT]
    assert len(text_prose(text)) == len(headline_prose(text)) == MAX_TEXT


def test_the_prose_of_an_article() -> None:
    found = prose_of(
        article(
            headline="Bun 2 is out - Notes of a developer",
            normalized_headline="bun 2 is out",
            canonical=reading(headline="Bun 2 is out - Notes of a developer"),
            text_for_analysis="It is fast. Read more",
        )
    )
    assert found.headline.rstrip() == "Bun 2 is out"
    assert found.text.rstrip() == "It is fast."


def test_the_sources_of_an_article_are_its_publishers() -> None:
    fields = {"headline": "X", "source_attribution": {"tiingo": attribution(source_name="Daily Dev")}}
    named = article(**fields, canonical=reading(headline="Bun 2 is out - Daily Dev"))
    assert prose_of(named).headline.rstrip() == "Bun 2 is out"
    by_reading = article(canonical=reading(headline="Bun 2 is out - Weekly Dev", publisher="Weekly Dev"))
    assert prose_of(by_reading).headline.rstrip() == "Bun 2 is out"
