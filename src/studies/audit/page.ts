/** An audit as a page. */

import { version } from '../../base/package.js';
import type { Content } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import { plural } from '../../base/text/numbers.js';
import { pageTable } from '../../base/text/table.js';
import { chartFigure } from '../../web/chart.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { howToRead, pageHeader, readingList, verdictBox, writtenBy } from '../../web/study.js';
import type { AuditResult } from './searches.js';
import {
  conclusionOf,
  improvementColumns,
  reading,
  searchColumns,
  sourceColumns,
  unreproducedColumns,
} from './text.js';

export function auditPage(results: readonly AuditResult[]): Page {
  const names = results.map(({ name }) => name).join(', ');
  const environments = [...new Set(results.map(({ environment }) => environment))].join(', ');
  const [only] = results;
  return {
    title: `Audit: ${names}`,
    header: pageHeader({
      kicker: 'audit',
      title: environments,
      state: `${results.length === 1 ? names : plural(results.length, 'record')}, ${plural(results[0]!.episodes, 'fresh episode')} per policy`,
      verdict: results.length === 1 && verdictBox(conclusionOf(only!)),
    }),
    sections: sectionsOf(
      ['result', 'Result', pageTable(results, sourceColumns, { tall: true })],
      ...results.map(
        (result, i) => [`record-${i + 1}`, result.name, record(result, results.length > 1)] as const,
      ),
      ['reading', howToRead, readingList(reading)],
    ),
    footer: writtenBy(version()),
  };
}

const record = (result: AuditResult, isOneOfMany: boolean): Content => {
  const { improvements, reproduced, searches } = result;
  return html`${isOneOfMany && html`<p>${conclusionOf(result)}</p>`}
${curves(result)}
${improvements.list.length > 0 && html`<h3>New bests</h3>${pageTable(improvements.list, improvementColumns, { tall: true })}`}
${reproduced.not.length > 0 && html`<h3>Not reproduced</h3>${pageTable(reproduced.not, unreproducedColumns, { tall: true })}`}
${searches.length > 0 && html`<h3>Searches with as many evaluations</h3>${pageTable(searches, searchColumns)}`}`;
};

function curves({ curves: { best, fresh, recorded }, evaluations }: AuditResult): Content {
  const line = { draw: 'steps', width: 2 } as const;
  return chartFigure(
    {
      label: `Best policy so far over ${plural(evaluations, 'evaluation')}: its recorded mean, its true mean, and the best true mean.`,
      x: { title: 'Evaluation', kind: 'whole' },
      y: { title: 'Mean return' },
      at: recorded.map((_, i) => i + 1),
      series: [
        { ...line, label: 'recorded best', colour: '--arm-1', values: recorded },
        { ...line, label: 'true mean of the recorded best', colour: '--arm-0', values: fresh },
        { ...line, label: 'best true mean so far', colour: '--good', isDashed: true, values: best },
      ],
    },
    html`The gap between the first two lines is luck. The dashed line is what a search without noise would have kept.`,
  );
}
