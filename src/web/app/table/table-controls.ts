/** Controls for the filter, the columns and the grouping of a table of items. */
import { formatCompact, formatCost, plural } from '../../../base/text/numbers.js';
import { fieldOf, itemFields } from '../../../runs/listing/fields.js';
import { holdsRuns, type Item } from '../../../runs/listing/item.js';
import type { ConfigKeys } from '../../messages.js';
import type { Group } from '../../table/groups.js';
import { type TableState, unknownKeyMessages } from '../../table/state.js';
import { html, type InputElementEvent } from '../base/html.js';
import { KeysField } from './keys-field.js';

/** The items and the state of a table. */
export interface TableProps {
  readonly items: readonly Item[];
  readonly state: TableState;
  readonly known: ConfigKeys | undefined;
  readonly loadKeys: () => void;
}

interface Props extends TableProps {
  readonly problems: readonly string[];
  readonly shown: readonly Item[];
  readonly groups: readonly Group[];
  readonly change: (changes: Partial<TableState>) => void;
}

/** Fields to suggest for grouping, in addition to config keys. */
const groupableKeys = ['model', 'environment', 'status', 'kind', 'tag'];

export function TableControls({ change, groups, items, known, loadKeys, problems, shown, state }: Props) {
  const { by, columns, filter } = state;
  const runCount = groups.reduce((sum, group) => sum + group.items.length, 0);
  const runItems = shown.filter((item) => !holdsRuns(item));
  // Without a filter or groups, a directory of runs stands for the runs in it.
  const isPlainList = filter === '' && by.length === 0;
  const runText =
    filter === '' ? plural(shown.length, 'run') : `${shown.length} of ${plural(items.length, 'run')}`;
  const count = by.length > 0 ? `${plural(groups.length, 'group')} of ${plural(runCount, 'run')}` : runText;
  const allProblems = [...problems, ...unknownKeyMessages([...by, ...columns], known?.keys)];
  const setGrouping = (text: string) =>
    change({
      by: [...new Set(text.split(/[,\s]+/).filter(Boolean))],
      ...(by.length === 0 && { sort: 'name' }),
      ...(text === '' && { sort: '-started' }),
    });
  return html`<form class="filter-form" role="search" onSubmit=${(event: Event) => event.preventDefault()}>
<label>Filter <input id="filter" type="search" value=${filter} placeholder="text, or status=running model.temperature=0.7..1" autocomplete="off" spellcheck=${false}
  aria-describedby="filter-help filter-problems" aria-invalid=${problems.length > 0} onInput=${({ currentTarget }: InputElementEvent) => change({ filter: currentTarget.value })} /></label>
<${KeysField} id="group-by" by=${by.join(', ')} placeholder="e.g. model.temperature" known=${[...(known?.different ?? []), ...groupableKeys]} onFocus=${loadKeys} apply=${setGrouping} />
<span class="muted" role="status">${[count, ...totalTexts(isPlainList ? shown : runItems)].join(', ')}</span>
<div id="filter-problems" role="status">${allProblems.map((problem) => html`<p class="note warn-text">${problem}.</p>`)}</div>
<p class="note" id="filter-help">Fields: ${itemFields.map(({ key }) => key).join(', ')}, and config keys such as model.temperature. Values may contain *; numbers and dates may be ranges, such as observed=400.. for at least 400.</p>
</form>
<${ColumnChoice} columns=${columns} known=${known} loadKeys=${loadKeys} change=${change} />`;
}

/** Summarises the items: how many are running or have failed, and the calls and cost of all. */
function totalTexts(items: readonly Item[]): readonly string[] {
  const count = (status: Item['status']) => items.filter((item) => item.status === status).length;
  const sum = (key: 'calls' | 'cost') => items.reduce((total, item) => total + (item[key] ?? 0), 0);
  const [running, failed, calls, cost] = [count('running'), count('failed'), sum('calls'), sum('cost')];
  return [
    ...(running > 0 ? [`${running} running`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(calls > 0 ? [`${formatCompact(calls)} calls`] : []),
    ...(cost > 0 ? [`cost ${formatCost(cost)}`] : []),
  ];
}

type ChoiceProps = Pick<Props, 'known' | 'loadKeys' | 'change'> & Pick<TableState, 'columns'>;

function ColumnChoice({ change, columns, known, loadKeys }: ChoiceProps) {
  const keys = itemFields.map(({ key }) => key).filter((key) => key !== 'name');
  const settings = new Set([...columns, ...(known?.different ?? [])].filter((key) => !keys.includes(key)));
  const toggle = (key: string) =>
    change({ columns: columns.includes(key) ? columns.filter((other) => other !== key) : [...columns, key] });
  const checkbox = (key: string) =>
    html`<label key=${key}><input type="checkbox" checked=${columns.includes(key)} onChange=${() => toggle(key)} /> ${fieldOf(key).title}</label>`;
  const add = ({ currentTarget }: InputElementEvent) => {
    const key = currentTarget.value.trim();
    if (key === '' || columns.includes(key)) return;
    currentTarget.value = '';
    toggle(key);
  };
  return html`<details class="choices" onToggle=${loadKeys}><summary>Columns</summary>
<fieldset><legend>Fields</legend>${keys.map(checkbox)}</fieldset>
<fieldset><legend>Config keys whose values differ</legend>${settings.size === 0 ? html`<span class="muted">none</span>` : [...settings].map(checkbox)}
<label>Other key <input type="text" list="config-keys" autocomplete="off" spellcheck=${false} onChange=${add} /></label>
<datalist id="config-keys">${known?.keys.map((key) => html`<option value=${key}></option>`)}</datalist></fieldset>
</details>`;
}
