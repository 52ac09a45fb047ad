"""Pages with a known text, for benchmarks/extract.py: the same articles as a dozen kinds of sites write them.

The articles are our own, and so is everything else on the pages: navigation, teasers, comments, cookie notices.
"""

# ruff: noqa: E501, RUF001 - the lines are those of the pages

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import NamedTuple


class Article(NamedTuple):
    headline: str
    paragraphs: tuple[str, ...]
    items: tuple[str, ...] = ()


class Page(NamedTuple):
    site: str
    html: str
    headline: str
    text: str


ARTICLES = (
    Article(
        "Ferry 4.2 halves the time of cold starts",
        (
            "The maintainers of Ferry have released version 4.2 of their build tool, which starts a cold build in half the time of the version before.",
            "Until now the tool read the whole dependency graph before it began to compile anything. The new scheduler begins with the packages that nothing else waits for, and reads the rest of the graph meanwhile.",
            "“Most of our users have two or three packages that everything depends on,” said Marit Olsen, who wrote the scheduler. “There was never a reason to wait for the other four thousand.”",
            "The release also removes the old cache format. Teams that share a cache between branches should delete it once, since the new version does not read the old entries and does not overwrite them either.",
            "Not everybody is happy: the plugin interface has changed for the third time in a year, and several plugins do not work with the new version yet.",
        ),
        ("Cold builds take half the time.", "The plugin interface has changed.", "Windows on ARM is supported."),
    ),
    Article(
        "Why we left Harbour and came back",
        (
            "Two years ago our team moved forty services from Harbour to a platform of our own. Last month the last of them moved back, and this is what we learned on the way.",
            "Our own platform was never slower than Harbour, and for the first year it was cheaper as well. What we had not counted was the work of three people who did nothing but keep it running.",
            "The second surprise were the upgrades. Harbour upgrades itself every night, and nobody on our team had ever noticed. On our platform every upgrade was a project, and by the end we were eleven versions behind.",
            "We do not regret the move. We understand our services far better than before, and most of them are smaller now. But a team of twelve has better things to do than to run a platform.",
        ),
    ),
    Article(
        "Security hole in Lantern lets readers see drafts",
        (
            "A flaw in the publishing system Lantern lets anybody who knows the address of a draft read it without a login, its developers said on Tuesday.",
            "All versions since 2.0 are affected. A patch is available for versions 3.4 and 3.5; older versions will not be patched, and their users should upgrade as soon as they can.",
            "Addresses of drafts contain a random part, so they cannot be guessed. They are written to the log of the web server, however, and some hosting companies show these logs to all of their customers.",
            "The developers know of one site where the flaw was used. They thanked the researcher who had found it and criticised that she had to wait nine weeks for an answer.",
            "Sites that cannot upgrade at once should switch off the preview of drafts, which closes the hole completely.",
        ),
    ),
    Article(
        "A first look at the new query planner in Quillbase",
        (
            "Quillbase 9 comes with a query planner that was written from scratch. We ran our own workload against it for two weeks, and the result is mixed.",
            "Joins over three tables or more have become a lot faster. The slowest query of our monthly report took eleven minutes with version 8 and takes forty seconds now, without any change on our side.",
            "Simple lookups by key, on the other hand, take a little longer than before: the new planner looks at every query for half a millisecond, whether or not there is anything to decide.",
            "The documentation is excellent. Every decision of the planner can be printed as a tree, and each node says what it would have cost to do otherwise.",
            "We will upgrade the reporting database this month, and leave the shop as it is until prepared plans are cached.",
        ),
        ("Joins: much faster", "Lookups by key: slightly slower", "Memory: about the same"),
    ),
    Article(
        "Tidewater raises 40 million to make backups boring",
        (
            "Tidewater, a young company from Rotterdam, has raised 40 million euros for its backup service, which tests every backup by restoring it.",
            "“Everybody has backups, and nobody has ever tried to restore one,” said its founder. “We restore all of them, every night, and throw the result away.”",
            "The company has about three hundred customers, among them two banks and a national library. It plans to open an office in Lisbon and to double the number of its engineers.",
            "Competitors point out that restoring everything every night is expensive. Tidewater does not publish its margins, but says that they have been positive since the spring.",
        ),
    ),
)

_TEASERS = (
    "Ten keyboards that we would buy again",
    "The week in releases: what you have missed",
    "Opinion: nobody reads your changelog",
    "How a bakery runs on three spreadsheets",
    "Podcast: the people behind the package registry",
    "Survey: developers spend a third of their day waiting",
)
_COMMENTS = (
    "First! Seriously though, we have been waiting for this for years and I cannot believe how long it took.",
    "I tried it yesterday and it broke our whole pipeline, so be careful and read the notes before you do anything.",
    "Does anybody know whether this works with the older runtime? The page of the project does not say a word about it.",
)


def _nav() -> str:
    links = "".join(
        f'<li><a href="/{word.lower()}">{word}</a></li>'
        for word in ("News", "Reviews", "Guides", "Video", "Jobs", "About", "Contact", "Log in")
    )
    return (
        f'<header class="site-header"><a class="logo" href="/">The Daily Build</a><nav><ul>{links}</ul></nav></header>'
    )


def _teasers(tag: str = "div") -> str:
    items = "".join(
        f'<li><a href="/a/{n}">{t}</a><span class="meta">3 min read</span></li>' for n, t in enumerate(_TEASERS)
    )
    return f'<{tag} class="related"><h3>Read next</h3><ul>{items}</ul></{tag}>'


def _comments() -> str:
    items = "".join(
        f'<li class="comment"><b>reader{n}</b><p>{t}</p><a href="#">Reply</a></li>' for n, t in enumerate(_COMMENTS)
    )
    return f'<section id="comments" class="comments-area"><h2>3 comments</h2><ol>{items}</ol></section>'


_COOKIES = (
    '<div id="cookie-banner" role="dialog"><p>We and our 214 partners use cookies to measure our audience and to show you '
    "advertisements. You can change your choice at any time.</p><button>Accept all</button><button>Settings</button></div>"
)
_SHARE = '<div class="share-buttons"><a>Share on X</a> <a>Facebook</a> <a>Copy link</a></div>'
_NEWSLETTER = (
    '<aside class="newsletter"><h4>Our newsletter</h4><p>Get the best of the week every Friday, straight to your inbox. No '
    'spam, and you can unsubscribe at any time.</p><form><input type="email"><button>Sign up</button></form></aside>'
)
_BIO = '<div class="author-bio"><p>Jo Field has written about software since 2009 and lives in Ghent with two cats.</p></div>'
_FOOTER = "<footer><p>© 2026 The Daily Build. All rights reserved. Imprint. Privacy policy. Terms of use.</p></footer>"
_SCRIPT = '<script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments);}gtag("js",new Date());</script>'


def _ps(article: Article, between: str = "") -> str:
    parts = [f"<p>{escape(each)}</p>" for each in article.paragraphs]
    if between:
        parts.insert(2, between)
    if article.items:
        parts.append("<ul>" + "".join(f"<li>{escape(each)}</li>" for each in article.items) + "</ul>")
    return "\n".join(parts)


def _page(article: Article, body: str, site: str = "The Daily Build") -> str:
    head = f'<title>{escape(article.headline)} - {site}</title><meta charset="utf-8"><meta property="og:title" content="{escape(article.headline)}">'
    return (
        f"<!doctype html><html lang=en><head>{head}{_SCRIPT}<style>.a{{b:c}}</style></head><body>{body}</body></html>"
    )


def _semantic(a: Article) -> str:
    inner = (
        f'<h1>{a.headline}</h1><p class="byline">By Jo Field, 21 February 2026</p>{_SHARE}{_ps(a, _NEWSLETTER)}{_BIO}'
    )
    return _page(
        a, f"{_COOKIES}{_nav()}<main><article>{inner}</article>{_teasers('aside')}</main>{_comments()}{_FOOTER}"
    )


def _wordpress(a: Article) -> str:
    inner = f'<h1 class="entry-title">{a.headline}</h1><div class="entry-meta">Posted on <time>Feb 21</time> by <a>admin</a></div><div class="entry-content">{_ps(a)}<div class="sharedaddy">{_SHARE}</div></div>'
    side = f'<div id="secondary" class="widget-area">{_teasers()}<div class="widget tagcloud"><a>tools</a> <a>builds</a></div></div>'
    return _page(
        a,
        f'<div id="page">{_nav()}<div id="primary"><article class="post type-post">{inner}</article>{_comments()}</div>{side}{_FOOTER}</div>',
    )


def _divs(a: Article) -> str:
    """A site without any element that says what it is."""
    rows = "".join(f'<div class="c12"><div class="c13">{escape(each)}</div></div>' for each in a.paragraphs)
    rows += "".join(f'<div class="c12"><div class="c13">{escape(each)}</div></div>' for each in a.items)
    links = "".join(f'<div class="c3"><a href="/x{n}">{t}</a></div>' for n, t in enumerate(_TEASERS))
    return _page(
        a,
        f'<div class="c1"><div class="c2">{links}</div><div class="c4"><div class="c5">{a.headline}</div>{rows}</div><div class="c9">{links}</div><div class="c8">© 2026 All rights reserved.</div></div>',
    )


def _table(a: Article) -> str:
    """A site from the days of tables, with line breaks instead of paragraphs."""
    text = "<br><br>".join(escape(each) for each in (*a.paragraphs, *a.items))
    links = "<br>".join(f'<a href="{n}.html">{t}</a>' for n, t in enumerate(_TEASERS))
    return _page(
        a,
        f"<table width=100%><tr><td colspan=3><font size=5>The Daily Build</font></td></tr><tr><td width=150>{links}</td><td><font size=4><b>{a.headline}</b></font><br><font face=Arial>{text}</font></td><td>{links}</td></tr><tr><td colspan=3>© 2026</td></tr></table>",
    )


def _documentation(a: Article) -> str:
    side = "".join(
        f'<li class="menu__list-item"><a class="menu__link" href="/docs/{n}">Chapter {n}</a></li>' for n in range(30)
    )
    toc = "".join(f'<li><a href="#{n}">Section {n}</a></li>' for n in range(6))
    return _page(
        a,
        f'<div class="navbar">{_nav()}</div><aside class="theme-doc-sidebar"><ul class="menu__list">{side}</ul></aside><main><div class="theme-doc-markdown markdown"><header><h1>{a.headline}</h1></header>{_ps(a)}</div><div class="table-of-contents"><ul>{toc}</ul></div><nav class="pagination-nav"><a>Previous: Installation</a><a>Next: Configuration</a></nav></main>{_FOOTER}',
    )


def _blog(a: Article) -> str:
    """A small blog with the text right in the body."""
    return _page(
        a,
        f'<p><a href="/">home</a> | <a href="/feed">feed</a></p><h1>{a.headline}</h1><p><i>21 February 2026</i></p>{_ps(a)}<hr><p><a href="/older">older posts</a></p>',
    )


def _news(a: Article) -> str:
    """A news site with teasers and advertisements between the paragraphs."""
    ad = '<div class="ad-slot" aria-hidden="true"><span>Advertisement</span><p>Save 50% on your first year of cloud hosting today.</p></div>'
    inline = f'<div class="inline-teaser"><strong>Read also:</strong> <a href="/a/9">{_TEASERS[0]}</a></div>'
    figure = (
        '<figure><img src="/i.jpg" alt=""><figcaption>The team in its office. Photo: Jo Field</figcaption></figure>'
    )
    return _page(
        a,
        f'{_COOKIES}{_nav()}<div class="layout"><div class="story" data-component="article"><h1>{a.headline}</h1><div class="story-byline">Jo Field</div>{figure}<div class="story-body">{_ps(a, ad + inline)}</div>{_SHARE}</div><div class="rail">{_teasers()}<div class="most-read">{_teasers("section")}</div></div></div>{_FOOTER}',
    )


def _forge(a: Article) -> str:
    """Release notes on a site for source code."""
    files = "".join(
        f'<li class="Box-row"><a href="/d/{n}">package-{n}.tar.gz</a> <span>12.{n} MB</span></li>' for n in range(5)
    )
    return _page(
        a,
        f'{_nav()}<div class="repo-nav"><a>Code</a><a>Issues 214</a><a>Pull requests 12</a></div><div class="Box"><div class="Box-body"><h1>{a.headline}</h1><div class="markdown-body my-3">{_ps(a)}</div></div><div class="Box-footer"><h3>Assets</h3><ul>{files}</ul></div></div>{_FOOTER}',
    )


def _questions(a: Article) -> str:
    votes = '<div class="vote"><button>▲</button><span>41</span><button>▼</button></div>'
    return _page(
        a,
        f'{_nav()}<div class="content"><h1 class="question-title">{a.headline}</h1><div class="postcell">{votes}<div class="post-text">{_ps(a)}</div><div class="tags"><a>build</a><a>cache</a></div></div></div><div class="sidebar">{_teasers()}</div>{_FOOTER}',
    )


def _sections(a: Article) -> str:
    """A magazine that wraps each paragraph into a section of its own."""
    body = "".join(
        f'<section class="block text"><div class="inner"><p>{escape(each)}</p></div></section>'
        for each in (*a.paragraphs, *a.items)
    )
    return _page(
        a,
        f'{_nav()}<main id="content"><div class="hero"><h1>{a.headline}</h1></div>{body}<section class="block promo">{_NEWSLETTER}</section><section class="block list">{_teasers()}</section></main>{_FOOTER}',
    )


def _press(a: Article) -> str:
    return _page(
        a,
        f'{_nav()}<div class="breadcrumb"><a>Home</a> › <a>Press</a></div><div class="press-release"><h2>{a.headline}</h2><p class="dateline">Rotterdam, 21 February 2026</p>{_ps(a)}</div><div class="contact-box"><h3>Press contact</h3><p>press@example.org, +31 10 000 00 00</p></div>{_FOOTER}',
    )


def _amp(a: Article) -> str:
    return _page(
        a,
        f'<amp-sidebar><ul><li><a>News</a></li></ul></amp-sidebar><article><h1>{a.headline}</h1><amp-img src="/i.jpg"></amp-img>{_ps(a)}<amp-ad></amp-ad></article><amp-consent><div><p>We use cookies to improve your experience.</p><button>Accept</button></div></amp-consent>{_FOOTER}',
    )


SITES: dict[str, Callable[[Article], str]] = {
    "article and aside": _semantic,
    "WordPress": _wordpress,
    "divs without names": _divs,
    "tables": _table,
    "documentation": _documentation,
    "small blog": _blog,
    "news with advertisements": _news,
    "release notes": _forge,
    "questions": _questions,
    "sections": _sections,
    "press release": _press,
    "AMP": _amp,
}


def pages() -> Iterator[Page]:
    for name, build in SITES.items():
        for article in ARTICLES:
            yield Page(name, build(article), article.headline, "\n".join((*article.paragraphs, *article.items)))
