/** The list of runs, training runs and directories of runs. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ConfigKeys, Item } from '../../messages.js';
import { parseFilter } from '../../table/filter.js';
import { askedBy, stateOf } from '../../table/state.js';
import { html } from '../base/html.js';
import { ask, type LinkState, useLive } from '../base/live.js';
import { isHolder } from '../base/words.js';
import { ItemTable } from '../table/item-table.js';

/** The directory's items, kept up to date, with the values of these config keys. */
function useItems(keys: readonly string[]) {
  const [items, setItems] = useState<ReadonlyMap<string, Item> | undefined>(undefined);
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
    { all: true, keys },
  );
  return { state, items };
}

interface Props {
  readonly query: URLSearchParams;
  /** Address of the page without its query. */
  readonly path: string;
  /** The directory whose runs are listed; undefined: everything. */
  readonly within?: string;
  /** Columns unless the query names others. */
  readonly columns?: readonly string[];
  /** Shown if there are no items at all. */
  readonly empty?: string;
  readonly onState?: (state: LinkState) => void;
}

export function LiveTable({ columns, empty = 'No runs yet.', onState, path, query, within }: Props) {
  const [known, setKnown] = useState<ConfigKeys | undefined>(undefined);
  const state = useMemo(() => stateOf(query, columns), [String(query), columns?.join()]);
  const filter = useMemo(() => parseFilter(state.filter, known?.keys), [state.filter, known]);
  const keys = askedBy(state, filter.asked);
  const { items, state: link } = useItems(keys);
  const load = () => {
    if (known === undefined) ask<ConfigKeys>('/api/keys').then(setKnown, () => undefined);
  };
  useEffect(() => onState?.(link), [link]);
  useEffect(() => {
    if (keys.length > 0) load();
  }, [keys.length > 0]);
  const own = useMemo(
    () =>
      [...(items?.values() ?? [])].filter(
        (item) => within === undefined || (item.name.startsWith(`${within}/`) && !isHolder(item)),
      ),
    [items, within],
  );
  if (items === undefined) return html`<p class="empty">Loading …</p>`;
  if (own.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<${ItemTable} items=${own} state=${state} filter=${filter} path=${path} within=${within} known=${known} loadKeys=${load} />`;
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
  useEffect(() => {
    document.title = `policyloop: ${place}`;
  }, [place]);
  const empty = html`${place} has no runs yet. Start one with <code>policyloop run quickstart</code>; it appears here immediately.`;
  return html`<main><h1 class="repeated">Runs and training runs in ${place}</h1><${LiveTable} query=${query} path="/" empty=${empty} onState=${onState} /></main>`;
}
