/** Actions for the selected runs and groups. */
import { useState } from 'preact/hooks';
import { plural } from '../../../format/numbers.js';
import type { Item } from '../../messages.js';
import type { Group } from '../../table/groups.js';
import type { TableState } from '../../table/state.js';
import { html } from '../base/html.js';
import { post } from '../base/live.js';
import { compareAddress, go, fieldOf as valueIn } from '../base/words.js';

interface Props {
  /** Names of items and ids of groups. */
  readonly chosen: ReadonlySet<string>;
  readonly items: readonly Item[];
  readonly groups: readonly Group[];
  readonly state: TableState;
  /** The directory whose runs are listed; undefined: everything. */
  readonly within?: string | undefined;
  readonly clear: () => void;
}

/** More names would make the address too long. */
const mostNames = 100;

/** Number of names that a question lists. */
const mostListed = 8;

/** Address of the comparison of these groups, or of all groups. */
function groupsAddress(
  { by, filter }: TableState,
  ids: readonly string[],
  within: string | undefined,
): string {
  const query = new URLSearchParams({
    ...(within && { of: within }),
    by: by.join(','),
    ...(filter && { filter }),
  });
  for (const id of ids) query.append('group', id);
  return `/compare?${query}`;
}

export function BulkActions({ chosen, clear, groups, items, state, within }: Props) {
  const [asked, setAsked] = useState<'tag' | 'remove' | undefined>(undefined);
  const [outcome, setOutcome] = useState('');
  const chosenGroups = groups.filter(({ id }) => chosen.has(id));
  const single = items.filter(({ name }) => chosen.has(name)).map(({ name }) => name);
  const names = [
    ...new Set([...single, ...chosenGroups.flatMap((group) => group.items.map(({ name }) => name))]),
  ];
  const isGroups = single.length === 0 && groups.length > 0;
  const isComparable = isGroups || (names.length >= 1 && names.length <= mostNames);
  const compare = () =>
    go(
      isGroups
        ? groupsAddress(
            state,
            chosenGroups.map(({ id }) => id),
            within,
          )
        : compareAddress(names),
    );
  const send = (address: string, body: object) =>
    post<{ text: string }>(address, body).then(
      ({ text }) => {
        setOutcome(text);
        setAsked(undefined);
        if (address === '/api/remove') clear();
      },
      (error: Error) => setOutcome(error.message),
    );
  const tag = (event: SubmitEvent) => {
    event.preventDefault();
    const tags = valueIn(event.currentTarget as HTMLFormElement, 'tags')
      .split(/[\s,]+/)
      .filter(Boolean);
    const isRemoval = (event.submitter as HTMLButtonElement | null)?.value === 'remove';
    if (tags.length > 0) void send('/api/tag', { of: names, [isRemoval ? 'remove' : 'add']: tags });
  };
  const what =
    chosenGroups.length > 0
      ? `${plural(chosenGroups.length, 'group')} (${plural(names.length, 'run')})`
      : plural(names.length, 'run');
  return html`<div class="bulk" role="group" aria-label="Actions for selected runs">
<button type="button" disabled=${!isComparable} title=${names.length > mostNames && !isGroups ? `Select at most ${mostNames} runs, or group them` : undefined} onClick=${compare}>${isGroups && chosenGroups.length === 0 ? 'Compare all groups' : 'Compare'}</button>
<button type="button" disabled=${names.length === 0} aria-expanded=${asked === 'tag'} onClick=${() => setAsked('tag')}>Tag</button>
<button type="button" disabled=${names.length === 0} aria-expanded=${asked === 'remove'} onClick=${() => setAsked('remove')}>Remove</button>
<span class="muted">${names.length > 0 && html`${what} selected <button type="button" class="plain" onClick=${clear}>clear</button>`}</span>
<span role="status">${outcome}</span>
${
  asked === 'tag' &&
  names.length > 0 &&
  html`<form class="question" onSubmit=${tag}><label>Tags of ${what} <input type="text" name="tags" placeholder="e.g. baseline" autocomplete="off" /></label>
<button type="submit" value="add">Add</button> <button type="submit" value="remove">Remove</button> <button type="button" class="plain" onClick=${() => setAsked(undefined)}>cancel</button></form>`
}
${
  asked === 'remove' &&
  names.length > 0 &&
  html`<div class="question" role="alertdialog" aria-label="Move to the trash"><p>Move ${what} to the trash? ${names.slice(0, mostListed).join(', ')}${names.length > mostListed && ` and ${names.length - mostListed} more`}</p>
<button type="button" class="danger" onClick=${() => void send('/api/remove', { of: names })}>Move to the trash</button> <button type="button" class="plain" onClick=${() => setAsked(undefined)}>cancel</button></div>`
}
</div>`;
}
