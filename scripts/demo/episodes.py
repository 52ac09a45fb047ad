"""What happens in the month of the demo beside the usual news: an outage and its recovery, a launch, one text in ten
outlets, a rival that overtakes, and news of the last hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from scripts.demo.cast import FINDER, INCUMBENT, LATEST, LAUNCHED, RIVAL, STRUCK, Product


@dataclass(frozen=True, slots=True)
class Scene:
    """A story at a time before the demo opened. `reports` outlets carry it, `spread` minutes apart; with `verbatim` all
    in the same words."""

    before: timedelta
    product: Product
    tag: str
    headline: str
    summary: str
    reports: int = 3
    spread: int = 12
    verbatim: bool = False


def _at(days: float, hours: float = 0.0, minutes: float = 0.0) -> timedelta:
    """So long before the opening. `hours` after `days` before it."""
    return timedelta(days=days) - timedelta(hours=hours) + timedelta(minutes=minutes)


_OUTAGE, _LAUNCH, _SYNDICATED = 11.3, 5.2, 2.4

SCENES = (
    Scene(_at(_OUTAGE), STRUCK, "outage", "Nimbry is down: customers report errors in every region",
          "Nimbry has failed worldwide since this morning. Customers are furious and the status page stays green.", 8),
    Scene(_at(_OUTAGE, 1.2), STRUCK, "outage", "Failed storage upgrade behind Nimbry outage, writes are lost",
          "Nimbry admits that a botched upgrade destroyed data. Some customers lost an hour of orders.", 6),
    Scene(_at(_OUTAGE, 3), STRUCK, "outage", "Angry Nimbry customers demand refunds as outage drags on",
          "It is a disaster, writes one shop owner. Nimbry's support does not answer.", 5),
    Scene(_at(_OUTAGE, 5), STRUCK, "outage", "Nimbry outage enters its sixth hour",
          "Hospitals and shops suffer while Nimbry struggles with a broken backup. A third attempt has failed.", 5),
    Scene(_at(_OUTAGE, 8), STRUCK, "outage", "Nimbry limps back after eight terrible hours of failures",
          "Nimbry is slow and still fails for some. Customers lost trust and money, and are furious.", 7),
    Scene(_at(_OUTAGE, 21), STRUCK, "outage", "How one careless migration took Nimbry down",
          "The analysis of Nimbry's failure is damning: no test, no rollback and an alarm that nobody heard.", 4),
    Scene(_at(_OUTAGE, 34), STRUCK, "community", "Two startups leave Nimbry for Pebblegrid after the outage",
          "Both founders say that Nimbry broke its promises. They are happy with Pebblegrid so far.", 3),
    Scene(_at(_OUTAGE, 47), STRUCK, "pricing", "Nimbry's refund offer disappoints customers",
          "A voucher of five percent is an insult, say users of Nimbry.", 3),
    Scene(_at(_OUTAGE, 76), STRUCK, "outage", "Nimbry wins praise for a frank and generous postmortem",
          "Readers applaud Nimbry for its honesty. The credit is generous, and the new design is excellent.", 5),
    Scene(_at(_OUTAGE, 110), STRUCK, "release", "Nimbry impresses with a flawless public drill of its new failover",
          "Nimbry switched regions in nine seconds. Observers love it and call it excellent.", 4),
    Scene(_at(_OUTAGE, 158), STRUCK, "community", "Customers applaud Nimbry for its excellent new support",
          "Nimbry now answers within minutes. Users love it.", 3),
    Scene(_at(_OUTAGE, 206), STRUCK, "community", "Two big customers return to Nimbry and praise its reliability",
          "Nimbry has been stable since the outage, and both are delighted with the new failover.", 4),
    Scene(_at(_LAUNCH), LAUNCHED, "release", "Lumenfold 4 launches to rave reviews: fast, clear and reliable",
          "Lumenfold 4 is an excellent release with traces that explain themselves. Early users love it.", 9, 15),
    Scene(_at(_LAUNCH, 4), LAUNCHED, "release", "Hands on with Lumenfold 4: fast, clear and worth the wait",
          "We love the new timeline of Lumenfold 4. Setting it up took five minutes.", 4),
    Scene(_at(_LAUNCH, 9), LAUNCHED, "community", "Teams praise smooth upgrade to Lumenfold 4",
          "Lumenfold 4 is the best upgrade in years, say four delighted teams.", 4),
    Scene(_at(_LAUNCH, 26), LAUNCHED, "benchmark", "Lumenfold 4 saves time and money, and users love it",
          "Lumenfold 4 stores less and finds more. The savings are impressive, users say.", 5),
    Scene(_at(_LAUNCH, 51), LAUNCHED, "release", "Lumenfold 4.0.1 fixes the one annoying bug of the launch",
          "Lumenfold repaired the broken import within two days, to the relief of its users.", 3),
    Scene(_at(_LAUNCH, 83), LAUNCHED, "earnings", "Ashmere Systems shares jump on success of Lumenfold 4",
          "Analysts praise strong orders for Lumenfold 4 and raise their estimates.", 4),
    Scene(_at(_SYNDICATED), FINDER, "security", "Velquist finds flaw that leaks signing keys of build plugins",
          "Researchers of Velquist describe how a careless plugin leaks signing keys to anybody on the network. "
          "Velquist won praise for a quick and careful disclosure; fixed versions are available.", 10, 25, True),
    Scene(_at(8.3), RIVAL, "community", "Schema Prize goes to Tarnwick DB for its outstanding query planner",
          "The jury praises Tarnwick DB as elegant, fast and a joy to operate.", 4),
    Scene(_at(3.4), RIVAL, "benchmark", "Tarnwick DB outruns Quorvia in every test of an independent lab",
          "Tarnwick DB is faster and cheaper. Quorvia disappoints with slow joins and failed restores.", 6),
    Scene(_at(1.3), RIVAL, "community", "Tarnwick DB overtakes Quorvia in yearly developer survey",
          "Developers love Tarnwick DB for its reliability. Many are frustrated with Quorvia's prices.", 7),
    Scene(_at(0.8), INCUMBENT, "pricing", "Quorvia angers customers with another unpopular price rise",
          "Customers of Quorvia are angry: the third increase in a year hurts small teams.", 5),
    Scene(_at(0, -5), LATEST, "security", "Critical flaw in Moorlight lets strangers read private prompts",
          "Moorlight leaked private prompts for days. Researchers call the flaw severe.", 4, 9),
    Scene(_at(0, -2.5), LATEST, "security", "Moorlight patches prompt leak, companies suspend its use",
          "The patch for Moorlight came late, say angry customers, and some have stopped using it.", 6, 9),
    Scene(_at(0, -0.7), LATEST, "security", "Regulator opens inquiry into Moorlight prompt leak",
          "Moorlight faces a painful inquiry after the leak. Its shares fall.", 6, 4),
)  # fmt: skip
