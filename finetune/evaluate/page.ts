/** Renders an evaluation as a self-contained page with links to the reports of its runs. */
import type { Content } from '../../src/base/text/content.js';
import { html } from '../../src/base/text/html.js';
import { formatReturn, formatShare, formatSigned, plural } from '../../src/base/text/numbers.js';
import { capitalize } from '../../src/base/text/one-line.js';
import { estimate, number, pageTable, text } from '../../src/base/text/table.js';
import { verdictRule } from '../../src/studies/comparison/words.js';
import { type Page, sectionsOf } from '../../src/web/page.js';
import { armCurves } from '../../src/web/report/charts/arm-curves.js';
import {
  explanationList,
  failureList,
  howToReadTitle,
  type PageContext,
  pageHeader,
  verdictBox,
  warningList,
  writtenByNote,
} from '../../src/web/study.js';
import { type Evaluation, type ExperimentResult, type GroupResult, testCount } from './evaluation.js';
import {
  armColumns,
  armRows,
  cautions,
  conclusions,
  differenceColumns,
  differencesIn,
  experimentTitle,
  familiarityTexts,
  mainDifference,
} from './tables.js';

export function evaluationPage(evaluation: Evaluation, context: PageContext): Page {
  const { arms, experiments, failures, groups, policyloop, status } = evaluation;
  const label = (name: string) => arms.find((arm) => arm.name === name)!.label;
  return {
    title: `Evaluation: ${label('tuned')} against ${label('base')}`,
    header: pageHeader({
      kicker: 'finetune evaluate',
      title: html`${label('tuned')} <span class="by">against</span> ${label('base')}`,
      status: context.status ?? status,
      state: progressText(evaluation),
      facts: arms.map((arm) => [
        arm.name,
        html`${arm.label}${arm.weights !== null && html` <code>${arm.weights.slice(0, 10)}</code>`}`,
      ]),
    }),
    sections: sectionsOf(
      ['result', 'Did it help?', resultView(evaluation)],
      ['differences', 'Differences', groups.length > 0 && differencesView(evaluation)],
      ...experiments.map(
        (one, i) =>
          [`experiment-${i + 1}`, experimentTitle(one), experimentSection(evaluation, one)] as const,
      ),
      ['runs', 'Runs', runTable(evaluation, context)],
      ['failures', 'Failures', failureList(failures)],
      ['reading', howToReadTitle, explanationList(readingNotes(evaluation))],
    ),
    footer: writtenByNote(policyloop),
    keys: ['environment', 'model'],
  };
}

function progressText({ runs, seeds, experiments }: Evaluation): string {
  const done = runs.filter(({ figures }) => figures?.isOver === true).length;
  return `${done} of ${plural(runs.length, 'run')} finished (${plural(experiments.length, 'experiment')}, ${plural(seeds.length, 'seed')})`;
}

function resultView(evaluation: Evaluation): Content {
  const [main, ...parts] = conclusions(evaluation);
  const { trainedOn } = evaluation;
  return html`${verdictBox(html`${main!.text}${main!.verdict !== 'nothing' && html` <span class="muted">(${main!.scope})</span>`}`, main!.verdict)}
${resultPlot(evaluation)}
${parts.map(
  ({ scope, text }) => html`<p><b>${capitalize(scope)}.</b> ${text}</p>
`,
)}${trainedOn.kind === 'unknown' ? html`<p class="note">Training environments unknown: ${trainedOn.reason}.</p>` : html`<p class="note">Training environments: ${trainedOn.environments.join(', ') || 'none'}${trainedOn.kind === 'stated' ? ' (from --trained-on)' : " (from the tuned model's training.json)"}.</p>`}
${warningList(cautions(evaluation).map((text) => `${text}.`))}`;
}

function differencesView(evaluation: Evaluation): Content {
  const { experiments } = evaluation;
  return html`${pageTable(differencesIn(evaluation), differenceColumns)}
${experiments.length > 1 && html`<p class="note">The last rows combine the experiments, with normalised returns: 0 is the lowest and 1 the highest confirmed return in each experiment. Each seed counts once, with its mean over the experiments. Verdicts are corrected for multiple comparisons within these rows.</p>`}`;
}

function experimentSection(evaluation: Evaluation, experiment: ExperimentResult): Content {
  const { arms, runs } = evaluation;
  const ownRuns = runs.filter((run) => run.experiment === experiment.name);
  const [low, high] = experiment.returns;
  const range = [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY] as const;
  const curves = arms.map(({ name }) => {
    const confirmed = experiment.arms[name]!.confirmed;
    return {
      name,
      range,
      curves: ownRuns.flatMap(({ arm, figures }) =>
        arm === name && figures !== null && figures.curve.length > 0 ? [figures.curve] : [],
      ),
      confirmed: confirmed
        ? { mean: confirmed.mean, interval: confirmed.meanInterval ?? [confirmed.mean, confirmed.mean] }
        : undefined,
    };
  });
  return html`<p class="note">${experiment.environment}${familiarityTexts[experiment.familiarity]}</p>
${armCurves(curves, { step: 1 })}
${pageTable(armRows(evaluation, experiment), armColumns)}`;
}

function runTable({ runs, seeds }: Evaluation, { linkOf }: PageContext): Content {
  return pageTable(
    runs,
    [
      text('run', ({ path, figures }) => ({ text: path, ...(figures !== null && { href: linkOf(path) }) })),
      number('seed', ({ repeat }) => String(seeds[repeat]!)),
      text('status', ({ figures }) => figures?.reason ?? 'not started'),
      number('confirmed', ({ figures }) => figures?.confirmed, { format: formatReturn, strong: true }),
      number('observed', ({ figures }) => figures?.observed, { format: formatReturn }),
      number('new bests', ({ figures }) => figures && `${figures.improvements} of ${figures.proposals}`),
      number('first reply valid', ({ figures }) => figures?.validFirst, { format: formatShare }),
      number('valid', ({ figures }) => figures?.valid, { format: formatShare }),
      number('repeated', ({ figures }) => figures?.repeated),
    ],
    { tall: true },
  );
}

function readingNotes({ seeds, experiments }: Evaluation): readonly Content[] {
  return [
    html`All models run the same configs with the same seeds (${seeds.join(', ')}): the same warm-up policies, the same episodes, and the same number of proposals (fewer if a target or a limit ends a run). Runs with the same seed form a pair; incomplete pairs are excluded`,
    html`<b>Confirmed return:</b> the mean return of a run's best policy on episodes that were used neither to find it nor to choose it`,
    html`<b>Intervals</b> are 95 % intervals: symmetric studentised bootstrap (Student's t with fewer than ten runs or nearly equal returns). Wins: the share of pairs in which the first model is higher; ties count half. In simulations with ten pairs of normal, skewed and all-or-nothing returns, coverage was at least 94 %`,
    html`<b>Verdicts</b> need at least six pairs, and cover confirmed returns only. ${verdictRule(testCount(experiments)).map((text) => `${capitalize(text)}. `)}No evidence of a difference is not evidence of no difference`,
    html`<b>Improvement rate:</b> the share of requested proposals that beat everything before them in their run. It falls as a run gets better, so compare it together with the return`,
    html`<b>First reply valid:</b> the share of proposals whose first reply was accepted or only repeated an earlier policy. <b>Valid:</b> the share of proposals that could be evaluated, after corrections if necessary`,
  ];
}

/** Plots tuned − base in normalised returns. */
function resultPlot({ experiments, groups }: Evaluation): Content | undefined {
  const pooledGroups = experiments.length > 1 ? groups : [];
  const rows = [
    ...experiments.flatMap((experiment) => {
      const [low, high] = experiment.range ?? [0, 0];
      return rowOf(experiment.name, experiment, high - low);
    }),
    ...pooledGroups.flatMap((group) => rowOf(group.group, group, 1)),
  ];
  if (rows.length === 0) return undefined;
  return html`${pageTable(rows, [
    text('', ({ name }) => name),
    estimate('tuned − base, normalised return', ({ estimated }) => estimated, {
      format: formatSigned,
      drawn: { line: 0 },
    }),
    number('pairs', ({ pairs }) => pairs),
  ])}
<p class="note">To the right of the dashed line, the tuned model is better. A bar that crosses the line is consistent with no difference. The verdicts below are corrected for multiple comparisons.</p>`;
}

function rowOf(name: string, result: Pick<GroupResult, 'differences'>, range: number) {
  const { counts, difference, interval } = mainDifference(result) ?? {};
  if (difference == null || interval == null || !(range > 0)) return [];
  const ends = [interval[0] / range, interval[1] / range] as const;
  return [{ name, pairs: counts![0]!, estimated: { value: difference / range, interval: ends } }];
}
