"""Writes table.tex and curves.pdf and .svg from the tables of `policyloop export`. Needs matplotlib."""
import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

T = {3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228}  # 97.5 % quantiles by degrees of freedom
tables = Path(sys.argv[1])
rows = lambda name: list(csv.DictReader((tables / f"{name}.csv").open()))


def interval(values):
    """Mean and half of the 95 % interval (Student's t); at least four seeds."""
    half = T[len(values) - 1] * statistics.stdev(values) / len(values) ** 0.5
    return statistics.mean(values), half


runs = {run["run"]: run for run in rows("runs")}
best = defaultdict(dict)  # arm -> run -> best score so far after each evaluation
confirmed = defaultdict(list)
for run in runs.values():
    confirmed[run["group"]].append(float(run["confirmed"]))
for evaluation in rows("evaluations"):
    curve = best[runs[evaluation["run"]]["group"]].setdefault(evaluation["run"], [])
    curve.append(max([float(evaluation["score"]), *curve[-1:]]))

lines = [f"{arm} & {len(values)} & ${mean:.1f} \\pm {half:.1f}$ \\\\" for arm, values in confirmed.items() for mean, half in [interval(values)]]
Path("table.tex").write_text("\\begin{tabular}{lrr}\nproposer & runs & return \\\\ \\hline\n" + "\n".join(lines) + "\n\\end{tabular}\n")

figure, axes = plt.subplots(figsize=(3.4, 2.4), layout="constrained")  # the width of a column
for arm, curves in best.items():
    points = [interval(at) for at in zip(*curves.values())]
    x = range(1, len(points) + 1)
    axes.plot(x, [mean for mean, _ in points], label=arm)
    axes.fill_between(x, [mean - half for mean, half in points], [mean + half for mean, half in points], alpha=0.2)
axes.set(xlabel="evaluations", ylabel="best mean return so far")
axes.set_ylim(bottom=0)  # no return of CartPole is below 0
figure.legend(loc="outside upper center", ncols=len(best), frameon=False)
for ending in ("pdf", "svg"):
    figure.savefig(f"curves.{ending}")
