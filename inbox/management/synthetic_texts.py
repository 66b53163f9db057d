"""Generates synthetic texts with real word frequencies: few words are everywhere, and most are
rare."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from random import Random

# The most common word comes first. The hundredth occurs a hundredth as often as the first (Zipf).
COMMON = """
the of to and a in report for review is on with was data are customer this by from at market be
draft release it pricing team that has we not as your an update or have month page were new all
more their one will order also into these than code been over which query two per after time other
if first only its user test can between about when no there three cost table risk average out plan
week issue most each file up number quarter account result server sales next found open line rate
since during but they source level same both many support value change due year today total high
low long service vendor option version section article check policy contract system model summary
email latest error growth search job log product schema shift image backlog deploy index cache
margin refund ledger renewal churn cohort forecast budget supplier shipment warehouse translation
glossary headline outline interview survey transcript sentiment ticket incident latency throughput
timeout retry rollback migration replica backup restore certificate firewall audit consent
retention privacy clause liability indemnity signature amendment appendix hypothesis baseline
variance outlier regression sample median percentile correlation segment funnel conversion campaign
audience keyword ranking backlink impression bounce newsletter subscriber onboarding checklist
milestone dependency blocker estimate velocity retrospective roadmap sprint catalogue inventory
barcode pallet courier customs tariff remittance reconciliation accrual depreciation amortisation
escrow dividend hedge exposure collateral covenant tranche underwriting premium claim adjuster
deductible actuary reinsurance morbidity triage dosage placebo enzyme protein genome antibody
catalyst polymer alloy turbine bearing gasket torque voltage capacitor inductor firmware checksum
"""
# These words were written often, but only by agents that have since retired.
LONG_AGO = ["fax", "gazette", "microfiche", "pager", "telex", "dispatcher"]
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo ya zu bre cla dro fle"
ENDINGS = "bel cor dan fen gol han jar kel lim mon nor pex ras sol tun vek wyn zor"

SUBJECTS = """
Market report|Release notes|Pricing options|Reconciliation|Weekly figures|Churn analysis
Supplier comparison|Migration plan|Translation of the manual|Customer interviews|Budget forecast
Backlog triage|Contract summary|Incident review|Search ranking|Inventory count|Newsletter draft
Refund decisions|Schema change|Warehouse schedule|Privacy audit|Test results|Deploy of the service
""".strip().replace("\n", "|").split("|")  # fmt: skip
HEADLINES = {
    "output": ["{subject} ready for your review", "{subject} for {name}", "{subject}, version {n}"],
    "update": ["{subject} reached {n} percent", "{subject} is under way", "{subject}: {name} done"],
    "question": ["{subject}: two options", "May I send {name} the {subject}?", "Which {subject}?"],
    "alert": ["{subject} paused safely", "{subject} stopped at {name}", "{subject} costs more"],
}
FEEDBACK = """
Good, go ahead.|Please shorten the second section.|Use the figures of last quarter instead.
Too expensive: look for another vendor.|Friendlier, please.|Yes.|No, we tried that with {name}.
Check the third row again, the total is wrong.|Only after the audit.|Ask {name} first.
""".strip().replace("\n", "|").split("|")  # fmt: skip


class SyntheticTexts:
    """Generates any number of texts. The same seed always generates the same texts."""

    def __init__(self, random: Random) -> None:
        self.random = random
        pairs = product(SYLLABLES.split(), SYLLABLES.split(), ENDINGS.split())
        self.names = ["".join(parts) for parts in pairs]
        random.shuffle(self.names)
        self.paragraphs = list(self._paragraphs(4_000))

    def headline(self, type: str) -> str:
        pattern = self.random.choice(HEADLINES[type])
        return self._filled(pattern, subject=self.random.choice(SUBJECTS))

    def feedback(self) -> str:
        return self._filled(self.random.choice(FEEDBACK))

    def summary(self) -> str:
        return self.random.choice(self.paragraphs)[:140].rpartition(" ")[0].capitalize() + "."

    def details_json(self, *, is_old: bool, number: int) -> str | None:
        """Returns details: None, markdown or an object. One result in two thousand is long."""
        draw = self.random.random()
        if draw < 0.25:
            return None
        count = 150 if draw > 0.9995 else self.random.randint(1, 4)
        texts = self.random.choices(self.paragraphs, k=count)
        if is_old:
            texts[0] += " " + self.random.choice(LONG_AGO)
        reference = f"ref-{number:x}-{self.random.getrandbits(20):x}"
        if draw < 0.6:
            return json.dumps(f"## {reference}\n\n" + "\n\n".join(texts))
        return json.dumps({
            "url": f"https://example.com/{self.random.choice(self.names)}/{reference}",
            "word_count": self.random.randint(100, 9_000),
            "findings": texts,
        })  # fmt: skip

    def _filled(self, pattern: str, **more: str) -> str:
        name = self.random.choice(self.names).capitalize()
        return pattern.format(name=name, n=self.random.randint(2, 99), **more)

    def _paragraphs(self, count: int) -> Iterator[str]:
        words = COMMON.split() + self.names
        weights = [1 / (rank + 2) for rank in range(len(words))]
        for _ in range(count):
            yield " ".join(self.random.choices(words, weights, k=self.random.randint(15, 60)))
