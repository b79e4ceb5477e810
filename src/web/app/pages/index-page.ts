/** The list of runs, training runs and directories of runs. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { parseFilter } from '../../../runs/listing/filter.js';
import { holdsRuns, type Item } from '../../../runs/listing/item.js';
import { queryOf } from '../../address.js';
import type { ConfigKeys } from '../../messages.js';
import { stateOf, usedKeys } from '../../table/state.js';
import { html } from '../base/html.js';
import { useLive, useResponse } from '../base/live.js';
import { ItemTable } from '../table/item-table.js';

interface Props {
  readonly query: URLSearchParams;
  /** Address of the page without its query. */
  readonly path: string;
  /** The directory whose runs are listed (default: all items are listed). */
  readonly within?: string;
  /** Columns to show if the query names none. */
  readonly columns?: readonly string[];
  /** Shown if there is nothing to list, whatever the filter. */
  readonly empty?: ComponentChildren;
}

export function LiveTable({ columns, empty = 'No runs yet.', path, query, within }: Props) {
  const [items, setItems] = useState<ReadonlyMap<string, Item> | undefined>(undefined);
  const [needsKeys, setNeedsKeys] = useState(false);
  const configKeys = useResponse<ConfigKeys>(needsKeys ? '/api/keys' : undefined).answer;
  const state = useMemo(() => stateOf(query, columns), [String(query), columns?.join()]);
  const filter = useMemo(() => parseFilter(state.filter, configKeys?.keys), [state.filter, configKeys]);
  const keys = usedKeys(state, filter.settingKeys);
  useLive(queryOf({ all: 'true', key: keys }), {
    onItems: ({ changed, removed, whole }) =>
      setItems((before) => {
        const next = new Map(whole ? [] : before);
        for (const item of changed) next.set(item.name, item);
        for (const name of removed) next.delete(name);
        return next;
      }),
  });
  useEffect(() => {
    if (keys.length > 0) setNeedsKeys(true);
  }, [keys.length]);
  const shownItems = useMemo(
    () =>
      [...(items?.values() ?? [])].filter(
        (item) => within === undefined || (item.name.startsWith(`${within}/`) && !holdsRuns(item)),
      ),
    [items, within],
  );
  if (items === undefined) return html`<p class="empty">Loading …</p>`;
  if (shownItems.length === 0) return html`<p class="empty">${empty}</p>`;
  return html`<${ItemTable} items=${shownItems} state=${state} filter=${filter} path=${path} within=${within} known=${configKeys} loadKeys=${() => setNeedsKeys(true)} />`;
}

export function IndexPage({ place, query }: { readonly query: URLSearchParams; readonly place: string }) {
  useEffect(() => {
    document.title = `policyloop: ${place}`;
  }, [place]);
  const empty = html`${place} has no runs yet. Start one with <code>policyloop run quickstart</code>; it appears here immediately.`;
  return html`<main><h1 class="repeated">Runs and training runs in ${place}</h1><${LiveTable} query=${query} path="/" empty=${empty} /></main>`;
}
