/** The page of a collection: its progress, and its runs by task and proposer. */

import { stringify } from 'yaml';
import { groupedBy } from '../../base/grouped.js';
import { type Html, html, preformatted } from '../../format/html.js';
import {
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatReturn,
  plural,
} from '../../format/numbers.js';
import { estimate, htmlTable, number, text } from '../../format/table.js';
import { mean, sum } from '../../statistics/descriptive.js';
import { summarize } from '../../statistics/paired.js';
import { intervalRows } from '../../web/interval-rows.js';
import type { Item } from '../../web/messages.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { pageHeader, tile } from '../../web/study.js';

/** Content of `collection.json`. */
export interface CollectionRecord {
  /** Number of planned runs. */
  readonly runs: number;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** @param inside the items in the collection's directory */
export function collectionPage(
  { runs: planned, settings }: CollectionRecord,
  { cost, name, status, tokens }: Item,
  inside: readonly Item[],
): Page {
  const runs = inside.filter(({ kind }) => kind === 'run');
  const done = runs.filter((run) => run.status === 'completed');
  const groups = [
    ...groupedBy(runs, ({ environment, model }) => `${environment ?? '?'} by ${model ?? '?'}`),
  ].map(([label, own]) => ({ label, runs: own, ...figuresOf(own) }));
  const failed = runs.filter((run) => run.status === 'failed').length;
  return {
    title: `Collection: ${name}`,
    header: pageHeader({
      kicker: html`finetune collect <b>${name}</b>`,
      title: 'Collection of runs',
      status: done.length === planned ? 'completed' : status === 'completed' ? 'interrupted' : status,
      state: `${formatCount(done.length)} of ${plural(planned, 'run')} complete`,
    }),
    sections: sectionsOf(
      [
        'result',
        'Result',
        html`<dl class="headline">
${tile('Runs', formatCount(done.length), `of ${formatCount(planned)} complete`)}
${failed > 0 && tile('Failed', formatCount(failed), 'runs')}
${(tokens ?? 0) > 0 && tile('Tokens', formatCompact(tokens!), 'in all runs')}
${cost !== null && tile('Cost', formatCost(cost), costNote({}))}
</dl>
${
  groups.length > 0 &&
  html`${intervalRows(
    groups.map(({ interval, label, observed }) => ({ name: label, value: observed, interval })),
    { title: 'Mean best observed return' },
  )}
<p class="note">The 95 % intervals are over runs. A run’s best observed return is the highest of many noisy means, so it is too high on average.</p>
${groupTable(groups)}`
}`,
      ],
      ['runs', 'Runs', ''],
      ['settings', 'Settings', preformatted(stringify(settings))],
    ),
    footer: undefined,
    keys: ['environment', 'model'],
  };
}

function figuresOf(runs: readonly Item[]) {
  const found = summarize(runs.flatMap(({ observed }) => observed ?? []));
  return { observed: found?.mean ?? null, interval: found?.meanInterval ?? null };
}

interface Group {
  readonly label: string;
  readonly runs: readonly Item[];
}

function groupTable(groups: readonly Group[]): Html {
  const minutes = ({ runs }: Group) => mean(runs.map((run) => run.minutes ?? 0));
  return htmlTable(groups, [
    text('task and proposer', ({ label }) => label),
    number('runs', ({ runs }) => runs.length),
    number('complete', ({ runs }) => runs.filter(({ status }) => status === 'completed').length),
    estimate('confirmed', ({ runs }) => {
      const found = summarize(runs.flatMap(({ confirmed }) => confirmed ?? []));
      return found && { value: found.mean, interval: found.meanInterval };
    }),
    number('iterations', ({ runs }) => sum(runs.map(({ done }) => done))),
    number('minutes per run', minutes, { format: formatReturn }),
  ]);
}
