import {
  formatCompact,
  formatCost,
  formatDuration,
  formatNumber,
  missingMark,
} from '../../../base/text/numbers.js';
import { fieldOf, type Value } from '../../../runs/listing/fields.js';
import { holdsRuns, type Item } from '../../../runs/listing/item.js';
import { itemAddress } from '../../address.js';
import type { GroupMeans } from '../../messages.js';
import { cellValue, type Group, groupTitle } from '../../table/groups.js';
import { html } from '../base/html.js';
import { returnText, unitOf } from '../base/words.js';

const numberFormatters: Readonly<Record<string, (value: number) => string>> = {
  observed: returnText,
  confirmed: returnText,
  calls: formatCompact,
  tokens: formatCompact,
  cost: formatCost,
  minutes: (value) => formatDuration(60_000 * value),
  seed: String,
};

function textOf(key: string, value: Value): string {
  if (value === null || value === '') return missingMark;
  if (typeof value === 'string') return key === 'started' ? value.slice(0, 16).replace('T', ' ') : value;
  return (numberFormatters[key] ?? ((number: number) => formatNumber(number, 6)))(value);
}

const statusMark = (status: string) => html`<span class=${`status ${status}`}>${status}</span>`;

const intervalView = (ends: readonly [number, number] | null | undefined) =>
  ends && html`<br /><span class="muted">${returnText(ends[0])} … ${returnText(ends[1])}</span>`;

const classOf = (key: string) =>
  key === 'started' ? 'time' : fieldOf(key).kind === 'number' ? 'number' : undefined;

function cellOf(item: Item, key: string) {
  switch (key) {
    case 'status':
      return statusMark(item.status);
    case 'progress':
      return progressBar(`progress of ${item.name}`, item.done, plannedUnits(item), unitOf(item));
    case 'confirmed':
      return html`<b>${returnText(item.confirmed)}</b>${intervalView(item.ci95)}`;
    case 'observed':
      return item.final === undefined
        ? returnText(item.observed)
        : html`${item.final.value}<br /><span class="muted final">${item.final.of}</span>`;
    case 'tag':
      return item.tags.map((tag) => html`<span class="tag">${tag}</span> `);
    default:
      return textOf(key, fieldOf(key).get(item));
  }
}

/** Returns the planned number of units or, for a completed run, the number done: a target or limit may end it early. */
const plannedUnits = ({ done, of, status }: Item) => (status === 'completed' ? done : of);

const progressBar = (label: string, done: number, of: number, unit: string) =>
  html`<span title=${unit}>${done}/${of}</span><progress aria-label=${label} value=${done} max=${of || 1}></progress>`;

interface RowProps {
  readonly columns: readonly string[];
  readonly isChosen: boolean;
  readonly toggle: () => void;
}

interface ItemRowProps extends RowProps {
  readonly item: Item;
  /** True if the row belongs to the group above it. */
  readonly isInside: boolean;
  readonly isGrouped: boolean;
  readonly within?: string | undefined;
}

export function ItemRow({ columns, isChosen, isGrouped, isInside, item, toggle, within }: ItemRowProps) {
  const { failure, fault = failure, kind, name, tags } = item;
  // On a study's own page, repeating its name in every row would only waste space.
  const shortName =
    within !== undefined && name.startsWith(`${within}/`) ? name.slice(within.length + 1) : name;
  return html`<tr class=${`${isChosen ? 'chosen' : ''}${isInside ? ' inside' : ''}`}>
<td class="choose"><input type="checkbox" aria-label=${`select ${name}`} checked=${isChosen} onChange=${toggle} /></td>
<th scope="row"><a class="row-link" href=${itemAddress(name)}>${shortName}${holdsRuns(item) && '/'}</a>${kind !== 'run' && html` <span class="kind">${kind}</span>`}${!columns.includes('tag') && tags.map((tag) => html` <span class="tag">${tag}</span>`)}${fault && html`<br /><span class="warn-text">${fault}</span>`}</th>
${isGrouped && html`<td></td>`}
${columns.map((key) => html`<td key=${key} class=${classOf(key)} data-label=${fieldOf(key).title}>${cellOf(item, key)}</td>`)}
</tr>`;
}

interface GroupRowProps extends RowProps {
  readonly group: Group;
  readonly by: readonly string[];
  readonly figures: GroupMeans | undefined;
  readonly isOpen: boolean;
  readonly expand: () => void;
}

export function GroupRow({ by, columns, expand, figures, group, isChosen, isOpen, toggle }: GroupRowProps) {
  const { environment, items } = group;
  const title = groupTitle(group, by);
  const runningCount = items.filter(({ status }) => status === 'running').length;
  const cell = (key: string) => {
    const value = cellValue(group, key, figures);
    const sum = (part: 'done' | 'of') => items.reduce((total, item) => total + item[part], 0);
    if (key === 'progress') return progressBar(`progress of ${title}`, sum('done'), sum('of'), 'iterations');
    if (key === 'status' && typeof value === 'string' && !value.endsWith(' values')) return statusMark(value);
    if (key === 'status') return statusCounts(items);
    const text = textOf(key, value);
    if (key === 'confirmed') return html`<b>${text}</b>${intervalView(figures?.confirmed?.meanInterval)}`;
    return key === 'observed' ? html`${text}${intervalView(figures?.observed?.meanInterval)}` : text;
  };
  return html`<tr class=${`group${isChosen ? ' chosen' : ''}`}>
<td class="choose"><input type="checkbox" aria-label=${`select the group ${title}`} checked=${isChosen} onChange=${toggle} /></td>
<th scope="row"><button type="button" class="plain row-link" aria-expanded=${isOpen} onClick=${expand}><span aria-hidden="true">${isOpen ? '▾' : '▸'}</span> ${title}</button>${!columns.includes('environment') && !by.includes('environment') && environment && html` <span class="muted">${environment}</span>`}</th>
<td class="number" data-label="runs">${items.length}${runningCount > 0 && html`<br /><span class="muted">${runningCount} running</span>`}</td>
${columns.map((key) => html`<td key=${key} class=${classOf(key)} data-label=${fieldOf(key).title}>${cell(key)}</td>`)}
</tr>`;
}

/** Counts items per status, such as `5 completed, 1 failed`. */
function statusCounts(items: readonly Item[]): string {
  const counts = new Map<string, number>();
  for (const { status } of items) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
}
