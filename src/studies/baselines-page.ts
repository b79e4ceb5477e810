/** The page of a study of baselines: their results per task, differences and runs. */
import { differenceColumns } from '../comparison/table.js';
import { reading, verdictRule } from '../comparison/words.js';
import { type Html, html } from '../format/html.js';
import { formatReturn, plural } from '../format/numbers.js';
import { htmlTable, number, text } from '../format/table.js';
import { findBaseline } from '../search/baselines.js';
import { intervalRows } from '../web/interval-rows.js';
import { type Page, sectionsOf } from '../web/page.js';
import { failureList, howToRead, pageHeader, readingList, type Shown, writtenBy } from '../web/study.js';
import {
  type BaselineRow,
  type BaselinesResult,
  baselineColumns,
  budgetWords,
  testedDifferences,
} from './baselines-result.js';

export function baselinesPage(result: BaselinesResult, shown: Shown): Page {
  const { budget, failures, policyloop, rows, runs, seeds, status } = result;
  const tasks = [...new Set(rows.map(({ experiment }) => experiment))];
  const { rows: differences, tested } = testedDifferences(result);
  const complete = runs.filter((run) => run.status === 'completed').length;
  return {
    title: `Baselines: ${tasks.join(', ')}`,
    header: pageHeader({
      kicker: 'controls',
      title: html`Baselines <span class="by">on</span> ${tasks.length > 3 ? plural(tasks.length, 'task') : tasks.join(', ')}`,
      status: shown.status ?? status,
      state: `${complete} of ${plural(runs.length, 'run')} complete; ${budgetWords(budget)}; ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')}`,
    }),
    sections: sectionsOf(
      [
        'result',
        'Result',
        html`${tasks.map((task) => taskForest(rows.filter(({ experiment }) => experiment === task)))}
<p class="note">The 95 % intervals are over seeds.</p>`,
      ],
      ['differences', 'Differences', tested > 0 && htmlTable(differences, differenceColumns, { tall: true })],
      ['figures', 'Figures', htmlTable(rows, baselineColumns(result), { tall: true })],
      ['runs', 'Runs', runTable(result, shown)],
      ['failures', 'Failures', failureList(failures)],
      ['reading', howToRead, readingList([reading.confirmed, ...verdictRule(tested)])],
    ),
    footer: writtenBy(policyloop),
    keys: ['environment', 'model'],
  };
}

const baselineName = (name: string): string => findBaseline(name)?.label ?? name;

/** The baselines on a task, best first. */
function taskForest(rows: readonly BaselineRow[]): Html {
  const { environment, experiment } = rows[0]!;
  const height = ({ confirmed }: BaselineRow) => confirmed?.mean ?? Number.NEGATIVE_INFINITY;
  return html`<h3>${experiment}${environment !== null && environment !== experiment && html` <span class="muted">${environment}</span>`}</h3>
${intervalRows(
  rows
    .toSorted((a, b) => height(b) - height(a))
    .map(({ confirmed, control, runs }) => ({
      name: baselineName(control),
      value: confirmed?.mean ?? null,
      interval: confirmed?.meanInterval ?? null,
      detail: plural(runs, 'run'),
    })),
  { title: 'Mean confirmed return' },
)}`;
}

const runTable = ({ runs }: BaselinesResult, { linkOf }: Shown): Html =>
  htmlTable(
    runs,
    [
      text('task', ({ experiment }) => experiment, { grouped: true }),
      text('run', ({ control, path, seed, status }) => ({
        text: `${baselineName(control)}, seed ${seed}`,
        ...(status !== 'not begun' && { href: linkOf(path) }),
      })),
      text('status', ({ status }) => (status === 'not begun' ? 'not started' : status)),
      number('confirmed', ({ confirmed }) => confirmed, { strong: true, format: formatReturn }),
      number('observed', ({ observed }) => observed, { format: formatReturn }),
      number('evaluations', ({ evaluations }) => evaluations),
    ],
    { tall: true },
  );
