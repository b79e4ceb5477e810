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
import { conclusionOf, reading, sourceColumns, tablesOf } from './text.js';

export function auditPage(results: readonly AuditResult[]): Page {
  const names = results.map(({ name }) => name).join(', ');
  const [only] = results;
  return {
    title: `Audit: ${names}`,
    header: pageHeader({
      kicker: 'audit',
      title: [...new Set(results.map(({ environment }) => environment))].join(', '),
      state: `${results.length === 1 ? names : plural(results.length, 'record')}, ${plural(only!.episodes, 'fresh episode')} per policy, ${only!.measuring} others for the figures`,
      verdict: results.length === 1 && verdictBox(conclusionOf(only!)),
    }),
    sections: sectionsOf(
      ['result', 'Result', pageTable(results, sourceColumns, { tall: true })],
      ...results.map(
        (result, i) =>
          [
            `record-${i + 1}`,
            result.name,
            html`${results.length > 1 && html`<p>${conclusionOf(result)}</p>`}
${curves(result)}
${tablesOf(result).map((table) => html`<h3>${table.title}</h3>${table.page()}`)}`,
          ] as const,
      ),
      ['reading', howToRead, readingList(reading)],
    ),
    footer: writtenBy(version()),
  };
}

function curves({ curves: { best, fresh, recorded }, evaluations }: AuditResult): Content {
  const line = { draw: 'steps', width: 2 } as const;
  return chartFigure(
    {
      label: `Best policy so far over ${plural(evaluations, 'evaluation')}: its recorded mean, its true mean, and the true mean of the best policy.`,
      x: { title: 'Evaluation', kind: 'whole' },
      y: { title: 'Mean return' },
      at: recorded.map((_, i) => i + 1),
      series: [
        { ...line, label: 'recorded best', colour: '--arm-1', values: recorded },
        { ...line, label: 'true mean of the recorded best', colour: '--arm-0', values: fresh },
        { ...line, label: 'true mean of the best policy', colour: '--good', isDashed: true, values: best },
      ],
    },
    html`The gap between the first two lines is luck. The dashed line is what a search without noise would have kept.`,
  );
}
