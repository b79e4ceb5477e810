/** Filter, columns and grouping of the table of items. */
import { useEffect, useState } from 'preact/hooks';
import { plural } from '../../../format/numbers.js';
import type { ConfigKeys, Item } from '../../messages.js';
import { fieldOf, fields } from '../../table/fields.js';
import type { Group } from '../../table/groups.js';
import { type TableState, unknownKeys } from '../../table/state.js';
import { html } from '../base/html.js';

interface Props {
  readonly state: TableState;
  readonly problems: readonly string[];
  readonly shown: readonly Item[];
  readonly items: readonly Item[];
  readonly groups: readonly Group[];
  readonly known: ConfigKeys | undefined;
  readonly loadKeys: () => void;
  readonly change: (changes: Partial<TableState>) => void;
}

type InputEvent = { readonly currentTarget: HTMLInputElement };

/** Keys to group by that aren't config keys. */
const groupable = ['model', 'environment', 'status', 'kind', 'tag'];

export function TableControls({ change, groups, items, known, loadKeys, problems, shown, state }: Props) {
  const { by, columns, filter } = state;
  const running = items.filter(({ status }) => status === 'running').length;
  const inGroups = groups.reduce((sum, group) => sum + group.items.length, 0);
  const count =
    by.length > 0
      ? `${plural(groups.length, 'group')} of ${plural(inGroups, 'run')}`
      : filter === ''
        ? `${shown.length}`
        : `${shown.length} of ${items.length}`;
  const all = [...problems, ...unknownKeys([...by, ...columns], known?.keys)];
  return html`<form class="filter-form" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
<label for="filter">Filter</label>
<input id="filter" type="search" value=${filter} placeholder="text, or status=running model.temperature=0.7..1" autocomplete="off" spellcheck=${false}
  aria-describedby="filter-help filter-problems" aria-invalid=${problems.length > 0} onInput=${({ currentTarget }: InputEvent) => change({ filter: currentTarget.value })} />
<${GroupBy} by=${by} known=${known} loadKeys=${loadKeys} change=${change} />
<span class="muted" role="status">${count}${running > 0 && `, ${running} running`}</span>
<div id="filter-problems" role="status">${all.map((problem) => html`<p class="note warn-text">${problem}.</p>`)}</div>
<p class="note" id="filter-help">Fields: ${fields.map(({ key }) => key).join(', ')}, and config keys such as model.temperature. Values may contain *; numbers and dates may be ranges: best=400..</p>
</form>
<${ColumnChoice} columns=${columns} known=${known} loadKeys=${loadKeys} change=${change} />`;
}

type ChoiceProps = Pick<Props, 'known' | 'loadKeys' | 'change'>;

function GroupBy({ by, change, known, loadKeys }: ChoiceProps & { readonly by: readonly string[] }) {
  const [text, setText] = useState(by.join(', '));
  useEffect(() => setText(by.join(', ')), [by.join()]);
  const apply = (value: string) =>
    change({
      by: [...new Set(value.split(/[,\s]+/).filter(Boolean))],
      ...(by.length === 0 && { sort: 'name' }),
      ...(value.trim() === '' && { sort: '-started' }),
    });
  // A datalist completes the last of several keys.
  const before = text.includes(',') ? `${text.slice(0, text.lastIndexOf(',') + 1)} ` : '';
  return html`<label for="group-by">Group by</label>
<input id="group-by" type="text" list="group-keys" size=${Math.max(24, text.length + 4)} value=${text} placeholder="e.g. model.temperature" autocomplete="off" spellcheck=${false}
  onFocus=${loadKeys} onInput=${({ currentTarget }: InputEvent) => setText(currentTarget.value)} onChange=${({ currentTarget }: InputEvent) => apply(currentTarget.value)} />
<datalist id="group-keys">${[...(known?.different ?? []), ...groupable].map((key) => html`<option value=${`${before}${key}`}></option>`)}</datalist>`;
}

function ColumnChoice({
  change,
  columns,
  known,
  loadKeys,
}: ChoiceProps & { readonly columns: readonly string[] }) {
  const chosen = new Set(columns);
  const own = fields.map(({ key }) => key).filter((key) => key !== 'name');
  const settings = [
    ...new Set([...columns.filter((key) => !own.includes(key)), ...(known?.different ?? [])]),
  ];
  const toggle = (key: string) =>
    change({ columns: chosen.has(key) ? columns.filter((one) => one !== key) : [...columns, key] });
  const box = (key: string) =>
    html`<label key=${key}><input type="checkbox" checked=${chosen.has(key)} onChange=${() => toggle(key)} /> ${fieldOf(key).title}</label>`;
  const add = (input: HTMLInputElement) => {
    const key = input.value.trim();
    if (key === '' || chosen.has(key)) return;
    input.value = '';
    toggle(key);
  };
  return html`<details class="choices" onToggle=${loadKeys}><summary>Columns</summary>
<fieldset><legend>Fields</legend>${own.map(box)}</fieldset>
<fieldset><legend>Config keys whose values differ</legend>${settings.length === 0 ? html`<span class="muted">none</span>` : settings.map(box)}
<label>Other key <input type="text" list="config-keys" autocomplete="off" spellcheck=${false} onChange=${({ currentTarget }: InputEvent) => add(currentTarget)} /></label>
<datalist id="config-keys">${known?.keys.map((key) => html`<option value=${key}></option>`)}</datalist></fieldset>
</details>`;
}
