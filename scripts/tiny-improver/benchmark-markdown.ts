/** The figures of the benchmark as Markdown, for the model card. */

import { formatReturn } from '../../src/format/numbers.js';
import type { Interval } from '../../src/statistics/bootstrap.js';
import { fewestForVerdict } from '../../src/statistics/verdict.js';
import { type BenchmarkFigures, type Difference, type Reached, winRate } from './benchmark-figures.js';
import { budgets } from './benchmark-plan.js';

/** The task whose course is shown. */
const shownTask = 'CartPole';
const last = budgets.at(-1)!;

export function benchmarkMarkdown(figures: BenchmarkFigures): string {
  const { arms, improver, tasks } = figures;
  const label = (arm: string) => arms.find((one) => one.arm === arm)!.label;
  const names = arms.map(({ arm }) => arm);
  const controls = [...new Set(figures.differences.map(({ control }) => control))];
  const sections = [
    `### At ${last} evaluations`,
    `Interquartile mean over runs of the confirmed return, with its 95 % interval, and the mean in brackets; bold: the highest of the row. ${countText(figures)}`,
    table(
      ['task', ...names.map(label)],
      tasks.map((task) => [task, ...reachedCells(figures, task, last)]),
    ),
    ...(tasks.includes(shownTask)
      ? [
          `### ${shownTask}`,
          table(
            ['evaluations', ...names.map(label)],
            budgets.map((budget) => [String(budget), ...reachedCells(figures, shownTask, budget)]),
          ),
        ]
      : []),
    ...(controls.length > 0
      ? [
          `### ${label(improver)}, minus each control`,
          `Difference of the interquartile means at ${last} evaluations over pairs of runs with the same seed, its 95 % interval, and the share of pairs in which the model ends higher (ties half). ▲ or ▼: the interval leaves out 0, from at least ${fewestForVerdict} pairs.`,
          table(
            ['task', ...controls.map((control) => `minus ${label(control)}`)],
            [
              ...tasks.map((task) => [
                task,
                ...controls.map((control) => differenceCell(find(figures, task, control))),
              ]),
              ['▲ / ▼', ...controls.map((control) => evidenceCell(figures, control))],
              ['mean share of wins', ...controls.map((control) => percent(winRate(figures, control, last)))],
            ],
          ),
        ]
      : []),
    '### Answers and time',
    'Valid: first answers that were accepted as they were. Seconds: median of a run, its confirmations included, on one thread.',
    table(
      ['arm', 'runs', 'answers', 'valid', 'seconds'],
      arms.map(({ answers, label: name, runs, seconds }) => [
        name,
        String(runs),
        answers === null ? '–' : String(answers.asked),
        answers === null ? '–' : percent(answers.valid / answers.asked, 2),
        seconds.toFixed(1),
      ]),
    ),
  ];
  return sections.join('\n\n');
}

/** `20 runs each.` */
function countText({ reached }: BenchmarkFigures): string {
  const counts = reached.map(({ count }) => count);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return `${least === most ? most : `${least} to ${most}`} runs each.`;
}

function reachedCells({ arms, reached }: BenchmarkFigures, task: string, budget: number): readonly string[] {
  const own = arms.map(({ arm }) =>
    reached.find((one) => one.task === task && one.arm === arm && one.budget === budget),
  );
  const highest = Math.max(...own.map((one) => one?.iqm ?? Number.NEGATIVE_INFINITY));
  return own.map((one) => (one === undefined ? '–' : reachedCell(one, one.iqm === highest)));
}

function reachedCell({ iqm, iqmInterval, mean }: Reached, highest: boolean): string {
  const centre = highest ? `**${number(iqm)}**` : number(iqm);
  return `${centre} ${interval(iqmInterval)} (${number(mean)})`.replace('  ', ' ');
}

const find = ({ differences }: BenchmarkFigures, task: string, control: string) =>
  differences.find((one) => one.task === task && one.control === control && one.budget === last);

function differenceCell(difference: Difference | undefined): string {
  if (difference === undefined) return '–';
  const { evidence, iqmDifference, iqmInterval, winRate: share } = difference;
  const mark = evidence === null ? '' : evidence === 'higher' ? '▲ ' : '▼ ';
  const signed = `${iqmDifference > 0 ? '+' : ''}${number(iqmDifference)}`;
  return `${mark}${signed} ${interval(iqmInterval)}, ${percent(share)}`.replace('  ', ' ');
}

function evidenceCell({ differences }: BenchmarkFigures, control: string): string {
  const own = differences.filter((one) => one.control === control && one.budget === last);
  const count = (evidence: Difference['evidence']) => own.filter((one) => one.evidence === evidence).length;
  return `${count('higher')} / ${count('lower')} of ${own.length}`;
}

const number = (value: number) => formatReturn(value === 0 ? 0 : value).replace('-', '−');

const interval = (ends: Interval | null) => (ends === null ? '' : `[${number(ends[0])}, ${number(ends[1])}]`);

const percent = (share: number, digits = 0) => `${(100 * share).toFixed(digits)} %`;

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), `|${header.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
