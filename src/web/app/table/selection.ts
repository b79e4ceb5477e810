/** What is selected in a table, and the button that compares it. */
import { plural } from '../../../base/text/numbers.js';
import type { Item } from '../../../runs/listing/item.js';
import type { Group } from '../../table/groups.js';
import type { TableState } from '../../table/state.js';
import { html } from '../base/html.js';
import { go, queryOf } from '../base/words.js';

interface Props {
  /** Names of the selected items and ids of the selected groups. */
  readonly chosen: ReadonlySet<string>;
  readonly items: readonly Item[];
  readonly groups: readonly Group[];
  readonly state: TableState;
  /** The directory whose runs are listed (default: all items are listed). */
  readonly within?: string | undefined;
  readonly clear: () => void;
}

/** Maximum number of runs to name in the URL of a comparison. */
const mostNames = 100;

export function Selection({ chosen, clear, groups, items, state: { by, filter }, within }: Props) {
  const group = groups.flatMap(({ id }) => (chosen.has(id) ? id : []));
  const names = items.flatMap(({ name }) => (chosen.has(name) ? name : []));
  const isGroups = names.length === 0 && groups.length > 0;
  const isTooMany = names.length > mostNames;
  const count =
    names.length > 0 ? plural(names.length, 'run') : group.length > 0 && plural(group.length, 'group');
  const compare = () =>
    go(`/compare${queryOf(isGroups ? { of: within, by: by.join(','), filter, group } : { of: names })}`);
  return html`<div class="bulk" role="group" aria-label="Selected runs">
<button type="button" disabled=${isTooMany || (!isGroups && names.length === 0)} title=${isTooMany ? `Select at most ${mostNames} runs, or group them` : undefined} onClick=${compare}>${isGroups && group.length === 0 ? 'Compare all groups' : 'Compare'}</button>
${count && html`<span class="muted">${count} selected <button type="button" class="plain" onClick=${clear}>clear</button></span>`}
</div>`;
}
