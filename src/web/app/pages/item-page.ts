import { useEffect, useState } from 'preact/hooks';
import { holdsRuns, type Item } from '../../../runs/listing/item.js';
import { itemAddress, queryOf } from '../../address.js';
import { html, submitHandler } from '../base/html.js';
import { useLive, usePost } from '../base/live.js';
import { unitOf, visit } from '../base/words.js';
import { LiveTable } from './index-page.js';
import { type Page, PageView, usePage } from './shown-page.js';

interface Props {
  readonly name: string;
  readonly query: URLSearchParams;
}

export function ItemPage({ name, query }: Props) {
  const iteration = query.get('iteration');
  return iteration === null
    ? html`<${WholePage} key=${name} name=${name} query=${query} />`
    : html`<${IterationPage} key=${name} name=${name} iteration=${Number(iteration)} />`;
}

function WholePage({ name, query }: Props) {
  const [item, setItem] = useState<Item | undefined>(undefined);
  const { page, problem, refresh } = usePage(`/api/page${queryOf({ of: name })}`, item === undefined ? 0 : 1);
  useLive(queryOf({ of: name }), {
    onItems: ({ changed: [changedItem], whole }) => {
      if (changedItem === undefined) return;
      // `latest` stands for a run with another name, so go to the address of that run.
      if (changedItem.name !== name) return visit(itemAddress(changedItem.name), true);
      // Refresh the page, because it shows the status too.
      if (item !== undefined && !whole && changedItem.status !== item.status) refresh();
      setItem(changedItem);
    },
    onStale: refresh,
  });
  useEffect(() => {
    if (page) document.title = `${item?.status === 'running' ? `${item.done}/${item.of} ` : ''}${page.title}`;
  }, [page, item]);
  const isStudy = item !== undefined && holdsRuns(item);
  const shownPage = page && isStudy ? { ...page, sections: addItemsSection(page.sections) } : page;
  const live = (section: string) =>
    section === 'items' &&
    html`<${LiveTable} path=${itemAddress(name)} query=${query} within=${name} columns=${columnsOf(page?.keys)} />`;
  return html`<${PageView} page=${shownPage} problem=${problem} loading=${`Loading ${name} …`} live=${live}>
${page && item && html`<${LiveLine} item=${item} />`}
${page && item?.status === 'running' && !isStudy && html`<${StopControls} item=${item} />`}
<//>`;
}

/** Returns the columns of a study's table, including the keys that differ between its runs. */
const columnsOf = (keys: readonly string[] = []): readonly string[] => [
  ...['status', ...keys, 'seed', 'progress', 'observed', 'confirmed', 'started'],
];

/** Replaces the section that lists a study's runs with an empty one for the live table; adds it if there is none. */
function addItemsSection(sections: Page['sections']): Page['sections'] {
  const items = { id: 'items', title: 'Runs', content: [] };
  const at = sections.findIndex(({ id }) => id === 'runs');
  return at < 0 ? [...sections, items] : sections.toSpliced(at, 1, items);
}

function LiveLine({ item }: { readonly item: Item }) {
  const { done, kind, name, of } = item;
  return html`<div class="live-line" role="region" aria-label="Progress">
<span><b>${done}</b> of ${of} ${unitOf(item)}</span>
<progress aria-label="progress" value=${done} max=${of || 1}></progress>
${kind === 'run' && html`<${IterationForm} name=${name} /> <a href=${`/search${queryOf({ of: name })}`}>Search prompts and replies</a>`}
</div>`;
}

function StopControls({ item: { kind, name } }: { readonly item: Item }) {
  const { isSending, reply, send } = usePost();
  const [isSure, setSure] = useState(false);
  const stop = () => {
    setSure(false);
    void send('/api/stop', { of: name });
  };
  const button = (label: string, action: () => void) =>
    html`<button type="button" disabled=${isSending} onClick=${action}>${label}</button>`;
  return html`<div class="live-line" role="region" aria-label=${`Controls for this ${kind}`}>
${isSure ? button('Confirm stop', stop) : button('Stop', () => setSure(true))}
<span role="status">${reply}</span>
</div>`;
}

function IterationForm({ name, iteration }: { readonly name: string; readonly iteration?: number }) {
  const open = submitHandler((field) => {
    const value = field('iteration');
    if (value !== '') visit(itemAddress(name, { iteration: value }));
  });
  return html`<form onSubmit=${open}><label>Iteration <input name="iteration" type="number" min="0" inputmode="numeric" value=${iteration ?? ''} key=${iteration} /></label> <button type="submit">Open</button></form>`;
}

/** Shows the page of an iteration: episodes, prompts, replies and policies. */
function IterationPage({ iteration, name }: { readonly name: string; readonly iteration: number }) {
  const [item, setItem] = useState<Item | undefined>(undefined);
  const { page, problem, refresh } = usePage(`/api/page${queryOf({ of: name, iteration })}`);
  useLive(queryOf({ of: name }), {
    onItems: ({ changed: [changedItem] }) => setItem((last) => changedItem ?? last),
    // Earlier iterations can no longer change.
    onStale: () => {
      if (item !== undefined && iteration >= item.done) refresh();
    },
  });
  const lastIteration = item?.done ?? iteration;
  const step = (by: number) => {
    const to = iteration + by;
    if (to >= 0 && to <= lastIteration) visit(itemAddress(name, { iteration: to }), true);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLInputElement || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === 'n' || event.key === 'ArrowRight') step(1);
      if (event.key === 'p' || event.key === 'ArrowLeft') step(-1);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
  return html`<div class="live-line" role="region" aria-label="Iteration">
<a href=${itemAddress(name)}>${name}</a>
<b>${iteration === 0 ? 'Warm-up' : `Iteration ${iteration} of ${lastIteration}`}</b>
<span><button type="button" disabled=${iteration <= 0} onClick=${() => step(-1)}>← previous</button> <button type="button" disabled=${iteration >= lastIteration} onClick=${() => step(1)}>next →</button></span>
<${IterationForm} name=${name} iteration=${iteration} />
</div>
<${PageView} page=${page} problem=${problem} loading="Loading …" />`;
}
