/** Shows programs on pages. Their sources come from a model, so pages contain them only as escaped text. */

import { type Content, Part } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { formatReturn, formatSigned, plural } from '../../../base/text/numbers.js';
import { number, pageTable, text } from '../../../base/text/table.js';
import type { Config } from '../../../config/config.js';
import { programTitle } from '../../../runs/program-text.js';
import { candidateName } from '../../../runs/summary.js';
import type { ProgramOrigin } from '../data/lineage.js';
import type { ShownCalls } from '../data/shown-calls.js';

/** Maximum number of programs in a table. */
const maxShown = 100;

/** Shows new bests and their ancestors, with the changes that each made to its parent. */
export function lineageView(
  origins: readonly ProgramOrigin[],
  config: Config,
  link: ShownCalls['link'],
): Content | undefined {
  if (origins.length === 0) return undefined;
  const shown = origins.slice(-maxShown);
  const linkTo = (entry: ProgramOrigin['entry'] | undefined) => entry && candidateLink(entry, config, link);
  const edited = shown.filter(({ entry, parent }) => parent !== undefined && entry.program !== undefined);
  return html`${shown.length < origins.length && html`<p>The last ${shown.length} of ${plural(origins.length, 'program')}.</p>`}
${pageTable(shown, [
  text('program', ({ entry }) => linkTo(entry)),
  number('mean return', ({ entry }) => entry.score, { format: formatReturn, strong: true }),
  text('made from', ({ parent }) => linkTo(parent)),
  number('change', ({ entry, parent }) => parent && formatSigned(entry.score - parent.score)),
  text('origin', originOf),
  text('size', ({ entry }) => programTitle(entry).replace(/^program, /, '')),
])}
<p class="note">New bests and their ancestors. Made from: the program that the prompt asked to change or, if it named none, the best program in the prompt. Tuned: a search changed only constants.</p>
${edited.map(({ entry, parent }, i) => programChange(entry, parent!, config, i === edited.length - 1))}`;
}

const candidateLink = (
  id: Pick<ProgramOrigin['entry'], 'iteration' | 'candidate'>,
  config: Config,
  link: ShownCalls['link'],
) => ({ text: candidateName(id, config), href: link(id) });

function originOf({ entry: { revises, source, tuned }, isWritten }: ProgramOrigin): string {
  if (tuned) return 'tuned';
  if (revises !== undefined) return 'revised';
  if (source !== 'proposal') return source;
  return isWritten ? 'model' : 'search';
}

/** Shows what a program changed in its parent, collapsed unless `open`. */
export const programChange = (
  entry: ProgramOrigin['entry'],
  parent: ProgramOrigin['entry'],
  config: Pick<Config, 'candidates'>,
  open: boolean,
): Content =>
  html`<details class="change" open=${open}><summary>${candidateName(entry, config)}: changes from ${candidateName(parent, config)} <span class="muted">${formatReturn(parent.score)} → ${formatReturn(entry.score)}</span></summary>
${new Part('text-difference', { left: parent.program ?? '', right: entry.program ?? '' })}</details>`;
