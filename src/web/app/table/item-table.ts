/** A table of items or of groups of items. Its filter, order, columns and grouping are part of the URL. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fieldOf, sortItems } from '../../../runs/listing/fields.js';
import type { Filter } from '../../../runs/listing/filter.js';
import type { Item } from '../../../runs/listing/item.js';
import { queryOf } from '../../address.js';
import type { GroupMeans } from '../../messages.js';
import { groupsOf, sortGroups } from '../../table/groups.js';
import { queryOfState, type TableState } from '../../table/state.js';
import { html } from '../base/html.js';
import { useResponse } from '../base/live.js';
import { visit } from '../base/words.js';
import { BulkActions } from './bulk-actions.js';
import { GroupRow, ItemRow } from './item-rows.js';
import { TableControls, type TableProps } from './table-controls.js';

/** Number of rows added at a time while scrolling. */
const rowsAtOnce = 100;

type MeansByGroup = Readonly<Record<string, GroupMeans>>;

interface Props extends TableProps {
  readonly filter: Filter;
  readonly path: string;
  readonly within?: string | undefined;
}

export function ItemTable({ filter, items, known, loadKeys, path, state, within }: Props) {
  const { by, sort } = state;
  const isGrouped = by.length > 0;
  // The first column already shows the keys that define the groups.
  const columns = state.columns.filter((key) => !by.includes(key));
  const [chosenIds, setChosenIds] = useState<ReadonlySet<string>>(new Set());
  const [openIds, setOpenIds] = useState<ReadonlySet<string>>(new Set());
  const [maxRows, setMaxRows] = useState(rowsAtOnce);
  const end = useRef<HTMLElement | null>(null);
  // Without groups or a filter, all runs of a study share one row, except on the study's own page.
  const shownItems = useMemo(
    () =>
      items.filter(
        (item) =>
          filter.accepts(item) &&
          (isGrouped || within !== undefined || state.filter !== '' || item.within === null),
      ),
    [items, filter, isGrouped, within],
  );
  const groups = useMemo(() => (isGrouped ? groupsOf(shownItems, by) : []), [shownItems, by]);
  // The server computes the statistics of the groups. They change only if one of these values does.
  const results = groups.map((group) => group.items.map((item) => [item.name, item.status, item.confirmed]));
  const isFilterValid = filter.problems.length === 0;
  const address = `/api/groups${queryOf({ by: by.join(','), filter: state.filter, of: within })}`;
  const { answer: figures = {}, problem } = useResponse<MeansByGroup>(
    isGrouped && isFilterValid ? address : undefined,
    JSON.stringify(results),
  );
  const problems = isFilterValid && problem !== '' ? [problem] : filter.problems;
  const rows = useMemo(() => (isGrouped ? [] : sortItems(shownItems, sort)), [shownItems, isGrouped, sort]);
  const groupRows = useMemo(() => sortGroups(groups, sort, ({ id }) => figures[id]), [groups, sort, figures]);
  const count = isGrouped ? groupRows.length : rows.length;
  const change = (changes: Partial<TableState>) =>
    visit(`${path}${queryOf(queryOfState({ ...state, ...changes }))}`, true);
  useEffect(() => setMaxRows(rowsAtOnce), [state]);
  // Clear the selection before the user can select anything else.
  useLayoutEffect(() => setChosenIds(new Set()), [by]);
  useEffect(() => {
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) setMaxRows((rows) => rows + rowsAtOnce);
      },
      { rootMargin: '600px' },
    );
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, [count > maxRows, maxRows]);
  const toggleKey = (key: string) => (set: ReadonlySet<string>) => {
    const next = new Set(set);
    if (!next.delete(key)) next.add(key);
    return next;
  };
  const ids = isGrouped ? groupRows.map(({ id }) => id) : rows.map(({ name }) => name);
  const isAllChosen = ids.length > 0 && ids.every((id) => chosenIds.has(id));
  const rowOf = (item: Item, isInside = false) =>
    html`<${ItemRow} key=${item.name} item=${item} columns=${columns} isInside=${isInside} isGrouped=${isGrouped} within=${within} isChosen=${chosenIds.has(item.name)} toggle=${() => setChosenIds(toggleKey(item.name))} />`;
  return html`<${TableControls} state=${state} problems=${problems} shown=${shownItems} items=${items} groups=${groups} known=${known} loadKeys=${loadKeys} change=${change} />
<${BulkActions} chosen=${chosenIds} items=${shownItems} groups=${groups} state=${state} within=${within} clear=${() => setChosenIds(new Set())} />
<div class="scroll" tabindex="0" role="region" aria-label=${isGrouped ? 'Groups of runs' : 'Runs and training runs'}><table class="items stack">
<thead><tr><th scope="col" class="choose"><input type="checkbox" aria-label="select all" checked=${isAllChosen} onChange=${() => setChosenIds(new Set(isAllChosen ? [] : ids))} /></th>
<${Heading} title=${isGrouped ? by.join(', ') : 'name'} sort=${sort} column="name" change=${change} />
${isGrouped && html`<th scope="col" class="number">runs</th>`}
${columns.map((key) => html`<${Heading} key=${key} title=${fieldOf(key).title} sort=${sort} column=${key} change=${change} />`)}</tr></thead>
<tbody>${rows.slice(0, maxRows).map((item) => rowOf(item))}${groupRows
    .slice(0, maxRows)
    .map((group) => [
      html`<${GroupRow} key=${group.id} group=${group} by=${by} columns=${columns} figures=${figures[group.id]} isOpen=${openIds.has(group.id)} expand=${() => setOpenIds(toggleKey(group.id))} isChosen=${chosenIds.has(group.id)} toggle=${() => setChosenIds(toggleKey(group.id))} />`,
      openIds.has(group.id) && sortItems(group.items, sort).map((item) => rowOf(item, true)),
    ])}</tbody>
</table></div>
${count > maxRows && html`<p ref=${end} class="note">Scroll for ${count - maxRows} more</p>`}
${count === 0 && html`<p class="empty">No runs match the filter.</p>`}
${isGrouped && html`<p class="note">Observed and confirmed: mean over the seeds of complete and failed runs, with its 95 % interval, as in <code>policyloop compare</code>; a failed run without a confirmed return gets the lowest one. Other numbers: mean of all runs in the group.</p>`}`;
}

interface HeadingProps {
  readonly title: string;
  readonly column: string;
  readonly sort: string;
  readonly change: (changes: Partial<TableState>) => void;
}

function Heading({ change, column, sort, title }: HeadingProps) {
  const isDescending = sort === `-${column}`;
  const order = isDescending ? 'descending' : sort === column ? 'ascending' : 'none';
  const isNumber = fieldOf(column).kind === 'number';
  return html`<th scope="col" class=${isNumber ? 'number' : ''} aria-sort=${order}><button type="button" class="plain" onClick=${() => change({ sort: isDescending ? column : `-${column}` })}>${title}</button></th>`;
}
