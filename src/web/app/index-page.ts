import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { filterKeys, parseFilter } from '../item-filter.js';
import type { Item } from '../messages.js';
import { html } from './html.js';
import { type LinkState, useLive } from './live.js';
import {
  compareAddress,
  go,
  isHolder,
  itemAddress,
  queryOf,
  shownReturn,
  shownTime,
  statusMark,
  unitOf,
} from './words.js';

/** Number of rows added at a time while scrolling. */
const rowsAtOnce = 100;

/** Maximum number of runs in a comparison. */
const mostCompared = 16;

const columns: readonly {
  key: string;
  title: string;
  of: (item: Item) => string | number | null;
  number?: boolean;
}[] = [
  { key: 'name', title: 'name', of: ({ name }) => name },
  { key: 'status', title: 'status', of: ({ status }) => status },
  { key: 'environment', title: 'environment', of: ({ environment }) => environment },
  { key: 'model', title: 'model', of: ({ model }) => model },
  { key: 'done', title: 'progress', of: ({ done, of }) => (of === 0 ? 0 : done / of), number: true },
  { key: 'observed', title: 'observed', of: ({ observed }) => observed, number: true },
  { key: 'confirmed', title: 'confirmed', of: ({ confirmed }) => confirmed, number: true },
  { key: 'started', title: 'started (UTC)', of: ({ started }) => started },
];

/** a key, with a minus for descending order */
function sorted(items: readonly Item[], sort: string) {
  const isDown = sort.startsWith('-');
  const key = isDown ? sort.slice(1) : sort;
  const of = columns.find((column) => column.key === key)?.of ?? (({ started }) => started);
  const sign = isDown ? -1 : 1;
  return items.toSorted((a, b) => {
    const [x, y] = [of(a), of(b)];
    // Missing values come last in either order.
    if (x === null || y === null) return x === y ? compare(a.name, b.name) : x === null ? 1 : -1;
    return sign * compare(x, y) || compare(a.name, b.name);
  });
}

const compare = (x: string | number, y: string | number) => (x < y ? -1 : x > y ? 1 : 0);

/** The directory's items, kept up to date. */
export function useItems(isWanted: (item: Item) => boolean) {
  const [items, setItems] = useState<Map<string, Item> | undefined>(undefined);
  const state = useLive(
    [],
    {
      items: ({ changed, removed, whole }) =>
        setItems((known) => {
          const next = new Map(whole ? [] : known);
          for (const item of changed) next.set(item.name, item);
          for (const name of removed) next.delete(name);
          return next;
        }),
    },
    { all: true },
  );
  return { state, items: items && [...items.values()].filter(isWanted) };
}

export function IndexPage({
  query,
  place,
  onState,
}: {
  query: URLSearchParams;
  place: string;
  onState: (state: LinkState) => void;
}) {
  const { items, state } = useItems(() => true);
  useEffect(() => onState(state), [state]);
  useEffect(() => {
    document.title = `policyloop: ${place}`;
  }, [place]);
  if (items === undefined) return html`<main><p class="empty">Loading ${place} …</p></main>`;
  if (items.length === 0)
    return html`<main><p class="empty">${place} has no runs yet. Start one with <code>policyloop run quickstart</code>; it appears here immediately.</p></main>`;
  return html`<main><h1 class="repeated">Runs and training runs in ${place}</h1><${ItemTable} items=${items} query=${query} path="/" /></main>`;
}

/** A table of items; its filter and order are part of the page's address. */
export function ItemTable({
  items,
  query,
  path,
  within,
}: {
  items: readonly Item[];
  query: URLSearchParams;
  path: string;
  within?: string;
}) {
  const [filter, sort] = [query.get('filter') ?? '', query.get('sort') ?? '-started'];
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [most, setMost] = useState(rowsAtOnce);
  const end = useRef<HTMLElement | null>(null);
  const { accepts, problem } = useMemo(() => parseFilter(filter), [filter]);
  // Without a filter, the runs of a sweep or of repeats share a row.
  const shown = useMemo(
    () =>
      sorted(
        items.filter(
          (item) => accepts(item) && (within !== undefined || filter !== '' || item.within === null),
        ),
        sort,
      ),
    [items, accepts, sort, filter, within],
  );
  const change = (changes: Record<string, string>) =>
    go(
      `${path}${queryOf({ ...(filter && { filter }), ...(sort !== '-started' && { sort }), ...changes })}`,
      true,
    );
  useEffect(() => setMost(rowsAtOnce), [filter, sort]);
  useEffect(() => {
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) setMost((rows) => rows + rowsAtOnce);
      },
      { rootMargin: '600px' },
    );
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, [shown.length > most, most]);
  const toggle = (name: string) => {
    const next = new Set(chosen);
    if (!next.delete(name) && next.size < mostCompared) next.add(name);
    setChosen(next);
  };
  const running = items.filter(({ status }) => status === 'running').length;
  return html`<form class="filter-form" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
<label for="filter">Filter</label>
<input id="filter" type="search" value=${filter} placeholder="text, or status=running best=400.." autocomplete="off" spellcheck=${false}
  aria-describedby="filter-help" onInput=${({ currentTarget }: { currentTarget: HTMLInputElement }) => change({ filter: currentTarget.value })} />
<span class="muted" role="status">${filter === '' ? `${shown.length}` : `${shown.length} of ${items.length}`}${running > 0 && `, ${running} running`}</span>
<span class="actions">
<button type="button" disabled=${chosen.size < 2} onClick=${() => go(compareAddress([...chosen]))}>Compare${chosen.size > 0 && ` ${chosen.size}`}</button>
</span>
<p class=${problem === undefined ? 'note' : 'note warn-text'} id="filter-help">${problem ?? `Keys: ${filterKeys.join(', ')}. Values may contain *; numbers may be ranges: best=400..`}</p>
</form>
<div class="scroll" tabindex="0" role="region" aria-label="Runs and training runs"><table class="items stack">
<thead><tr><th scope="col"><span class="repeated">compare</span></th>${columns.map((column) => {
    const isDown = sort === `-${column.key}`;
    const order = isDown ? 'descending' : sort === column.key ? 'ascending' : 'none';
    return html`<th scope="col" class=${column.number ? 'number' : ''} aria-sort=${order}><button type="button" class="plain" onClick=${() => change({ sort: isDown ? column.key : `-${column.key}` })}>${column.title}<span aria-hidden="true">${order === 'none' ? '' : isDown ? ' ↓' : ' ↑'}</span></button></th>`;
  })}</tr></thead>
<tbody>${shown.slice(0, most).map((item) => html`<${ItemRow} key=${item.name} item=${item} within=${within} isChosen=${chosen.has(item.name)} toggle=${toggle} />`)}</tbody>
</table></div>
${shown.length > most && html`<p ref=${end} class="note">Scroll for ${shown.length - most} more</p>`}
${shown.length === 0 && html`<p class="empty">No runs match the filter.</p>`}`;
}

function ItemRow({
  item,
  within,
  isChosen,
  toggle,
}: {
  item: Item;
  within?: string | undefined;
  isChosen: boolean;
  toggle: (name: string) => void;
}) {
  const { ci95, confirmed, done, environment, fault, kind, model, name, observed, of, started, status } =
    item;
  // On the page of a sweep, its name in every row would only take space.
  const shortName =
    within !== undefined && name.startsWith(`${within}/`) ? name.slice(within.length + 1) : name;
  const share = of === 0 ? 0 : Math.min(1, done / of);
  return html`<tr class=${isChosen ? 'chosen' : ''}>
<td class="choose">${kind === 'run' && html`<input type="checkbox" aria-label=${`compare ${name}`} checked=${isChosen} onChange=${() => toggle(name)} />`}</td>
<th scope="row"><a class="row-link" href=${itemAddress(name)}>${shortName}${isHolder(item) && '/'}</a>${kind !== 'run' && html` <span class="kind">${kind}</span>`}${item.tags.map((tag) => html` <span class="tag">${tag}</span>`)}${item.note && html`<br /><span class="muted">${item.note}</span>`}${fault && html`<br /><span class="warn-text">${fault}</span>`}</th>
<td data-label="status">${statusMark(status)}</td>
<td data-label="environment">${environment ?? '–'}</td>
<td data-label="model">${model ?? '–'}</td>
<td class="number" data-label="progress"><span title=${unitOf(item)}>${done}/${of}</span><progress aria-label=${`progress of ${name}`} value=${share} max="1"></progress></td>
<td class="number" data-label="observed">${shownReturn(observed)}</td>
<td class="number" data-label="confirmed"><b>${shownReturn(confirmed)}</b>${ci95 && html`<br /><span class="muted">${shownReturn(ci95[0])} … ${shownReturn(ci95[1])}</span>`}</td>
<td data-label="started (UTC)" class="time">${shownTime(started)}</td>
</tr>`;
}
