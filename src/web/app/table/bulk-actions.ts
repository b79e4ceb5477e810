/** Actions for the selected runs and groups. */
import { useState } from 'preact/hooks';
import { plural } from '../../../base/text/numbers.js';
import type { Item } from '../../../runs/listing/item.js';
import { queryOf } from '../../address.js';
import type { Group } from '../../table/groups.js';
import type { TableState } from '../../table/state.js';
import { html, submitHandler } from '../base/html.js';
import { usePost } from '../base/live.js';
import { visit } from '../base/words.js';

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

/** Defined once, because a new function would run after every rendering, not only when the field appears. */
const focusField = (field: HTMLInputElement | null) => field?.focus();

/** Maximum number of runs to name in the URL of a comparison. */
const maxNames = 100;

export function BulkActions({ chosen, clear, groups, items, state, within }: Props) {
  const [isTagging, setTagging] = useState(false);
  const { reply, send } = usePost();
  const { by, filter } = state;
  const chosenGroups = groups.filter(({ id }) => chosen.has(id));
  const chosenItems = items.filter(({ name }) => chosen.has(name));
  const names = [
    ...new Set([...chosenItems, ...chosenGroups.flatMap((group) => group.items)].map(({ name }) => name)),
  ];
  const byGroup = chosenItems.length === 0 && groups.length > 0;
  const hasTooMany = !byGroup && names.length > maxNames;
  const compare = () => {
    const group = chosenGroups.map(({ id }) => id);
    visit(`/compare${queryOf(byGroup ? { of: within, by: by.join(','), filter, group } : { of: names })}`);
  };
  const tag = submitHandler((field) => {
    const tags = field('tags')
      .split(/[\s,]+/)
      .filter(Boolean);
    if (tags.length === 0) return;
    void send('/api/tag', { of: names, [field('change')]: tags }).then((isDone) => setTagging(!isDone));
  });
  const runs = plural(names.length, 'run');
  const chosenText = chosenGroups.length > 0 ? `${plural(chosenGroups.length, 'group')} (${runs})` : runs;
  const cancel = html`<button type="button" class="plain" onClick=${() => setTagging(false)}>cancel</button>`;
  return html`<div class="bulk" role="group" aria-label="Actions for selected runs">
<button type="button" disabled=${hasTooMany || (!byGroup && names.length === 0)} title=${hasTooMany ? `Select at most ${maxNames} runs, or group them` : undefined} onClick=${compare}>${byGroup && chosenGroups.length === 0 ? 'Compare all groups' : 'Compare'}</button>
<button type="button" disabled=${names.length === 0} aria-expanded=${isTagging} onClick=${() => setTagging(true)}>Tag</button>
<span class="muted">${names.length > 0 && html`${chosenText} selected <button type="button" class="plain" onClick=${clear}>clear</button>`}</span>
<span role="status">${reply}</span>
${
  isTagging &&
  names.length > 0 &&
  html`<form class="question" onSubmit=${tag}><label>Tags for ${chosenText} <input type="text" name="tags" ref=${focusField} placeholder="e.g. baseline" autocomplete="off" /></label> <button type="submit" name="change" value="add">Add</button> <button type="submit" name="change" value="remove">Remove</button> ${cancel}</form>`
}
</div>`;
}
