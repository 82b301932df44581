"""From single runs to figures: medians, minima, spreads, ratios, and the goals of the bench."""

import math
import statistics

from contestants import EQUAL, REUSE, SINGLE, STOCK
from workloads import CASES

from machine import commit_of

# (case, model) of the whole bench.
ALL = [(case.name, model) for case in CASES.values() for model in case.models]
# Those that PyG-Temporal has: there is no DySAT in it.
STOCKED = [job for job in ALL if job[1] != "dysat"]
MIB = 1 << 20


class Figures:
    """The figures of a report, by (case, model, contestant)."""

    def __init__(self, report):
        self.report = report
        self.runs = {}
        for run in report["runs"]:
            self.runs.setdefault((run["case"], run["model"], run["peer"], run["variant"]), []).append(run)

    def jobs(self):
        """(case, model), in order."""
        return list(dict.fromkeys((case, model) for case, model, *_ in self.runs))

    def contestants(self, job):
        return [key[2:] for key in self.runs if key[:2] == job]

    def has(self, job, contestant):
        return (*job, contestant.peer, contestant.variant) in self.runs

    def of(self, job, peer, variant):
        runs = self.runs[(*job, peer, variant)]
        seconds = [value for run in runs for value in run["seconds"][1:]]
        middles = [statistics.median(run["seconds"][1:]) for run in runs]
        median = statistics.median(seconds)
        return {
            "median": median,
            "min": min(seconds),
            "spread": (max(middles) - min(middles)) / median,
            "peak": max(run["peak_bytes"] for run in runs) / MIB,
            "net": max(run["peak_bytes"] - run["import_bytes"] for run in runs) / MIB,
            "loss": runs[0]["losses"][-1],
            "commit": commit_of(runs[0], self.report["about"]),
        }

    def one(self, job, contestant):
        """Of one of ours; a model that has nothing to reuse trains by default as with reuse off."""
        if contestant == REUSE and not self.has(job, REUSE):
            contestant = EQUAL
        return self.of(job, contestant.peer, contestant.variant)

    def tuned(self, job):
        """The fastest peer other than stock PyG-Temporal, by median: (peer, variant)."""
        others = [found for found in self.contestants(job) if found[0] != "zoetrope" and found != (STOCK.peer, STOCK.variant)]
        return min(others, key=lambda found: self.of(job, *found)["median"], default=None)

    def factors(self, job, peer, ours):
        """Their time over ours, of medians and of minima."""
        theirs, mine = self.of(job, *peer), self.one(job, ours)
        return theirs["median"] / mine["median"], theirs["min"] / mine["min"]


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def goals(figures):
    """(what is asked, what was found, whether it is met) for each goal that was measured.

    A goal about all cases is not met by a run of some.
    """
    jobs = [job for job in figures.jobs() if job in ALL]
    stocked = [job for job in STOCKED if job in jobs and figures.has(job, STOCK)]
    found = []
    whole = len(jobs) == len(ALL)

    def against_stock(ours, mean, least):
        if not stocked:
            return
        factors = [figures.factors(job, (STOCK.peer, STOCK.variant), ours) for job in stocked]
        worst = " ".join(min(zip(factors, stocked))[1])
        for asked, take, limit, which in [("geometric mean", geometric, mean, ""), ("least factor", min, least, f": {worst}")]:
            middle, lowest = take([f[0] for f in factors]), take([f[1] for f in factors])
            text = f"{middle:.1f} × of medians ({lowest:.1f} of minima), {len(stocked)} of {len(STOCKED)} cases{which}"
            found.append((f"{ours.variant}: at least {limit} × stock PyG-Temporal, {asked}", text, middle >= limit and len(stocked) == len(STOCKED)))

    against_stock(EQUAL, 8, 4)
    tuned = {job: figures.tuned(job) for job in jobs if figures.tuned(job)}
    if tuned:
        factors = {job: figures.factors(job, peer, EQUAL) for job, peer in tuned.items()}
        worst = min(factors, key=lambda job: factors[job][0])
        text = f"least {factors[worst][0]:.1f} × of medians ({factors[worst][1]:.1f} of minima): {' '.join(worst)}"
        found.append(("reuse off: at least 3 × the best tuned peer, every case", text, factors[worst][0] >= 3 and whole))
    against_stock(REUSE, 12, 5)
    for kind, label in [("peak", "whole process"), ("net", "without the peer's imports")]:
        shares = {job: figures.one(job, EQUAL)[kind] / rival(figures, job)[kind] for job in jobs}
        if shares:
            worst = max(shares, key=shares.get)
            text = f"at most {shares[worst]:.2f}: {' '.join(worst)}"
            found.append((f"peak memory at most half of the peer's ({label})", text, shares[worst] <= 0.5 and whole))
    single = {job: figures.factors(job, (SINGLE.peer, SINGLE.variant), EQUAL) for job in jobs if figures.has(job, SINGLE)}
    if single:
        worst = min(single, key=lambda job: single[job][0])
        text = f"least {single[worst][0]:.2f} × of medians ({single[worst][1]:.2f} of minima): {' '.join(worst)}"
        found.append(("two threads at least 1.7 × one, D4 and D5", text, single[worst][0] >= 1.7 and whole))
    if start := figures.report.get("start_seconds"):
        middle = statistics.median(start["first_step"]) + start["process"]
        lowest = min(start["first_step"]) + start["process"]
        text = f"{1e3 * middle:.0f} ms, median ({1e3 * lowest:.0f}, minimum), {1e3 * start['process']:.0f} of them before main, at {commit_of(start, figures.report['about'])}"
        found.append(("D1 begins its first step within 100 ms", text, middle <= 0.1))
    return found


def rival(figures, job):
    """Whose memory ours is compared with: stock PyG-Temporal, or the best peer if it has no such model."""
    return figures.one(job, STOCK) if figures.has(job, STOCK) else figures.of(job, *figures.tuned(job))
