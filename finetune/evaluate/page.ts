/** An evaluation to look at: one file that loads nothing, linked to the reports of its runs. */

import { pText, signed, verdictChips, verdictRule, verdictText } from '../../src/comparison/words.js';
import { type Content, type Html, html } from '../../src/format/html.js';
import {
  formatCompact,
  formatDuration,
  formatNumber,
  formatReturn,
  plural,
} from '../../src/format/numbers.js';
import { armCurves } from '../../src/report/charts/arm-curves.js';
import { relativeLink } from '../../src/report/group-report.js';
import { page, type Section } from '../../src/report/page/page.js';
import { runFiles } from '../../src/runs/reader.js';
import type { PairedComparison, Summary } from '../../src/statistics/paired.js';
import { cautions, conclusions } from './conclusion.js';
import {
  type ArmComparison,
  type EvaluatedRun,
  type Evaluation,
  type ExperimentResult,
  testedIn,
} from './evaluate.js';
import { type Metric, metrics } from './figures.js';
import { differencePlot } from './plot.js';

export function renderEvaluationPage(evaluation: Evaluation): string {
  const { arms, experiments, groups, policyloop } = evaluation;
  const label = (name: string) => arms.find((arm) => arm.name === name)!.label;
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Did it help?', content: result(evaluation) },
    groups.length === 0
      ? undefined
      : { id: 'differences', title: 'What changed', content: differences(evaluation) },
    ...experiments.map((experiment, i) => ({
      id: `experiment-${i + 1}`,
      title: `${experiment.name}${experiment.familiarity === 'transfer' ? ' (transfer)' : ''}`,
      content: experimentSection(evaluation, experiment),
    })),
    { id: 'runs', title: 'Runs', content: runTable(evaluation) },
    { id: 'reading', title: 'How to read this', content: reading(evaluation) },
  ];
  return page({
    title: `Evaluation: ${label('tuned')} against ${label('base')}`,
    header: html`<header>
<p class="kicker">policyloop finetune evaluate</p>
<h1>${label('tuned')} <span class="by">against</span> ${label('base')}</h1>
<p class="state"><span class="status ${evaluation.status}">${evaluation.status}</span> ${progress(evaluation)}</p>
<dl class="facts">
${arms.map(
  (
    arm,
  ) => html`<div><dt>${arm.name}</dt><dd>${arm.label}${arm.weights !== null && html` <code>${arm.weights.slice(0, 10)}</code>`}</dd></div>
`,
)}</dl>
</header>`,
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>Written by policyloop ${policyloop}.</p>`,
  });
}

function progress({ runs, seeds, experiments }: Evaluation): string {
  const done = runs.filter(({ figures }) => figures?.status === 'completed').length;
  return `${done} of ${plural(runs.length, 'run')}: ${plural(experiments.length, 'experiment')}, ${plural(seeds.length, 'seed')}`;
}

function result(evaluation: Evaluation): Html {
  const [main, ...parts] = conclusions(evaluation);
  const { failures, trainedOn } = evaluation;
  const notes = cautions(evaluation);
  return html`<p class="verdict ${main!.verdict}">${main!.text}</p>
${parts.map(
  ({ scope, text }) => html`<p><b>${sentence(scope)}.</b> ${text}</p>
`,
)}${trainedOn.kind === 'unknown' ? html`<p class="note">Transfer can't be told apart: ${trainedOn.reason}.</p>` : html`<p class="note">Trained on: ${trainedOn.environments.join(', ') || 'none'}${trainedOn.kind === 'stated' ? ' (as stated by --trained-on)' : ' (from the lineage of the training)'}.${trainedOn.kind === 'lineage' && trainedOn.validation.length > 0 && ` Runs of ${trainedOn.validation.join(', ')} chose when the training stopped, but taught nothing.`}</p>`}
${notes.length > 0 && html`<ul class="warnings">${notes.map((text) => html`<li>${text}.</li>`)}</ul>`}
${failures.length > 0 && html`<ul class="warnings">${failures.map(({ arm, run, message }) => html`<li><b>${arm}</b> failed in ${run}: ${message}</li>`)}</ul>`}`;
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function differences({ experiments, groups }: Evaluation): Html {
  const rows = [
    ...experiments.map(({ name, familiarity, comparisons }) => ({
      title: familiarity === 'transfer' ? `${name} (transfer)` : name,
      comparisons,
    })),
    ...(experiments.length > 1
      ? groups.map(({ group, comparisons }) => ({ title: groupTitles[group], comparisons }))
      : []),
  ];
  return html`${experiments.length > 1 && differencePlot(experiments, groups)}
<div class="scroll" tabindex="0"><table>
<thead><tr><th></th><th>difference</th><th class="number">pairs</th><th class="number">return</th><th class="number">IQM</th><th class="number">wins</th><th class="number">p (Holm)</th><th></th></tr></thead>
<tbody>${rows.flatMap(({ title, comparisons }) =>
    comparisons.map(
      ({ of, against, metrics: { confirmed } }, i) =>
        html`<tr><th scope="row">${i === 0 && title}</th><td>${of} − ${against}</td>${comparisonCells(confirmed)}</tr>
`,
    ),
  )}</tbody></table></div>
${experiments.length > 1 && html`<p class="note">The last rows put experiments together: their returns are normalised, 0 is the lowest and 1 the highest confirmed return of any run of an experiment, and a seed counts once, with its mean over them. Their verdicts are corrected among themselves.</p>`}`;
}

const groupTitles = {
  all: 'all, normalised',
  trained: 'trained on, normalised',
  transfer: 'transfer, normalised',
} as const;

function comparisonCells(comparison: PairedComparison | null): Content {
  if (comparison === null) return html`<td class="number">0</td><td colspan="5"></td>`;
  const { pairs, difference, interval, iqmDifference, iqmInterval, winRate, winInterval, adjusted, verdict } =
    comparison;
  const cell = (
    value: number,
    interval: readonly [number, number] | null,
    format: (value: number) => string,
  ) =>
    html`<td class="number"><b>${format(value)}</b><br><span class="muted">${ends(interval, format)}</span></td>`;
  return html`<td class="number">${pairs}</td>${cell(difference, interval, signed)}${cell(iqmDifference, iqmInterval, signed)}${cell(winRate, winInterval, percentText)}<td class="number">${pText(adjusted)}</td><td><span class="chip ${verdictChips[verdict]}">${verdictText({ verdict, test: 'paired' })}</span></td>`;
}

function experimentSection(evaluation: Evaluation, experiment: ExperimentResult): Html {
  const { arms, runs } = evaluation;
  const comparisons = experiment.comparisons.filter(({ of }) => of === 'tuned');
  const own = runs.filter((run) => run.experiment === experiment.name);
  const curves = arms.map(({ name }) => {
    const confirmed = experiment.arms[name]!.confirmed;
    return {
      name,
      curves: own.flatMap(({ arm, figures }) =>
        arm === name && figures !== null && figures.curve.length > 0 ? [figures.curve] : [],
      ),
      confirmed: confirmed
        ? { mean: confirmed.mean, interval: confirmed.meanInterval ?? [confirmed.mean, confirmed.mean] }
        : undefined,
    };
  });
  const familiarity = { trained: 'trained on', transfer: 'not trained on', unknown: 'unknown' }[
    experiment.familiarity
  ];
  return html`<p class="note">${experiment.environment}; ${familiarity === 'unknown' ? 'whether it was trained on is unknown' : familiarity}.</p>
${armCurves(curves)}
<div class="scroll" tabindex="0"><table>
<thead><tr><th></th>${arms.map(({ name }) => html`<th class="number">${name}</th>`)}${comparisons.map(({ against }) => html`<th class="number">tuned − ${against}</th>`)}</tr></thead>
<tbody>${(Object.keys(metrics) as Metric[]).map((metric) =>
    metricRow(
      metric,
      { arms: experiment.arms, comparisons },
      arms.map(({ name }) => name),
    ),
  )}${tokenRow(
    own,
    arms.map(({ name }) => name),
    comparisons,
  )}</tbody></table></div>`;
}

function metricRow(
  metric: Metric,
  { arms, comparisons }: Pick<ExperimentResult, 'arms' | 'comparisons'>,
  names: readonly string[],
): Html {
  const isReturn = metric === 'confirmed';
  const format = isReturn ? formatReturn : percentText;
  const change = isReturn ? signed : signedPercent;
  return html`<tr><th scope="row">${metrics[metric]}</th>${names.map((name) => html`<td class="number">${summaryCell(arms[name]![metric], format, isReturn)}</td>`)}${comparisons.map(({ metrics: compared }) => html`<td class="number">${differenceCell(compared[metric], change)}</td>`)}</tr>
`;
}

function summaryCell(summary: Summary | null, format: (value: number) => string, withIqm: boolean): Content {
  if (summary === null) return '–';
  return html`<b>${format(summary.mean)}</b><br><span class="muted">${ends(summary.meanInterval, format)}${withIqm && html`<br>IQM ${format(summary.iqm)}<br>${ends(summary.iqmInterval, format)}`}</span>`;
}

function differenceCell(comparison: PairedComparison | null, format: (value: number) => string): Content {
  if (comparison === null) return '–';
  return html`<b>${format(comparison.difference)}</b><br><span class="muted">${ends(comparison.interval, format)}</span>`;
}

function tokenRow(
  runs: readonly EvaluatedRun[],
  names: readonly string[],
  comparisons: readonly ArmComparison[],
): Html | undefined {
  const cells = names.map((name) => {
    const own = runs.flatMap(({ arm, figures }) => (arm === name && figures !== null ? [figures] : []));
    const each = (of: (figures: (typeof own)[number]) => number) =>
      own.reduce((sum, figures) => sum + of(figures), 0) / own.length;
    return own.length === 0
      ? '–'
      : html`${formatNumber(each(({ evaluations }) => evaluations))} evaluations<br><span class="muted">${formatCompact(each(({ tokens }) => tokens))} tokens, ${formatDuration(each(({ activeMs }) => activeMs))}</span>`;
  });
  return html`<tr><th scope="row">a run takes</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}${comparisons.map(() => html`<td></td>`)}</tr>`;
}

function runTable({ runs, seeds }: Evaluation): Html {
  return html`<div class="scroll tall" tabindex="0"><table>
<thead><tr><th>run</th><th class="number">seed</th><th>status</th><th class="number">confirmed</th><th class="number">observed</th><th class="number">improving</th><th class="number">valid at first</th><th class="number">valid</th><th class="number">repeated</th></tr></thead>
<tbody>${runs.map(({ path, repeat, figures }) =>
    figures === null
      ? html`<tr><th scope="row">${path}</th><td class="number">${seeds[repeat]!}</td><td class="muted" colspan="7">not begun</td></tr>
`
      : html`<tr><th scope="row"><a href="${relativeLink(`${path}/${runFiles.report}`)}">${path}</a></th><td class="number">${seeds[repeat]!}</td><td>${figures.reason}</td><td class="number"><b>${formatReturn(figures.confirmed ?? undefined)}</b></td><td class="number">${formatReturn(figures.observed ?? undefined)}</td><td class="number">${figures.improvements} of ${figures.proposals}</td><td class="number">${shareText(figures.validFirst)}</td><td class="number">${shareText(figures.valid)}</td><td class="number">${figures.repeated}</td></tr>
`,
  )}</tbody></table></div>`;
}

function reading({ seeds, experiments }: Evaluation): Html {
  return html`<ul>
<li>All models play the same configs with the same seeds (${seeds.join(', ')}): the same warm-up policies, the same episodes, the same number of proposals (fewer where a target or a limit ends a run). Runs that share a seed are a pair; pairs of which one run is missing are left out.</li>
<li><b>Confirmed return:</b> the mean return of a run's best policy on episodes that neither proposed nor chose it.</li>
<li><b>Intervals</b> are 95 %. Of means: symmetric studentised bootstrap, with fewer than ten runs Student's t. Of interquartile means (IQM): expanded percentile bootstrap. Of wins (the share of pairs in which the tuned model is higher, ties half): exact. Simulations with ten pairs of normal, skewed and all-or-nothing returns covered at 94 % and more.</li>
<li><b>Confirmed returns</b> have verdicts, from six pairs on. ${verdictRule(testedIn(experiments)).map((text) => `${sentence(text)}. `)}No evidence of a difference is not evidence of none.</li>
<li><b>Improvement rate:</b> proposals that beat everything before them in their run, of all that were asked for. It falls as a run gets better: read it beside the return.</li>
<li><b>Valid at first:</b> first answers in the format, repetitions of what was tried included. <b>Valid in the end:</b> proposals that could be evaluated, after corrections.</li>
</ul>`;
}

const ends = (interval: readonly [number, number] | null, format: (value: number) => string) =>
  interval === null ? 'no interval' : `${format(interval[0])} … ${format(interval[1])}`;

const percentText = (share: number) => `${formatNumber(100 * share, 3)} %`;
const signedPercent = (share: number) => `${share > 0 ? '+' : ''}${percentText(share)}`;
const shareText = (share: number | null) => (share === null ? '–' : percentText(share));
