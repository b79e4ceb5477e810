import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Chart } from '../../chart.js';
import type { Item, Row } from '../../messages.js';
import type { TrainingInFile } from '../../training-charts.js';
import { html } from '../base/html.js';
import { grow, type LinkState, useLive } from '../base/live.js';
import { fieldOf, go, isHolder, itemAddress, unitOf } from '../base/words.js';
import { LiveCurve, newCourse } from '../chart/live-curve.js';
import { TrainingCharts } from '../chart/training.js';
import { jsonIn } from '../markup/markup.js';
import type { Page } from '../markup/sections.js';
import { Markup, Section, SectionLinks } from '../markup/sections.js';
import { Question, Steering, useQuestion } from './feedback.js';
import { LiveTable } from './index-page.js';
import { usePage } from './use-page.js';

export function ItemPage({
  name,
  query,
  onState,
}: {
  name: string;
  query: URLSearchParams;
  onState: (state: LinkState) => void;
}) {
  const iteration = query.get('iteration');
  return iteration === null
    ? html`<${WholePage} key=${name} name=${name} query=${query} onState=${onState} />`
    : html`<${IterationPage} key=${name} name=${name} iteration=${Number(iteration)} onState=${onState} />`;
}

function WholePage({
  name,
  query,
  onState,
}: {
  name: string;
  query: URLSearchParams;
  onState: (state: LinkState) => void;
}) {
  const [item, setItem] = useState<Item | undefined>(undefined);
  const [version, setVersion] = useState(0);
  // Counts changes of the run's files.
  const [news, setNews] = useState(0);
  const question = useQuestion(name, news);
  const course = useRef(newCourse());
  const metrics = useRef({ step: [] as Row[], validation: [] as Row[], evaluation: [] as Row[] });
  const { page, problem, refresh } = usePage(
    `/api/page?${new URLSearchParams({ of: name })}`,
    (item === undefined ? 0 : 1) + (course.current.points.length === 0 ? 0 : 1),
  );
  const state = useLive([name], {
    items: ({ changed, whole }) => {
      const own = changed.find((one) => one.name === name);
      if (own === undefined) return;
      // Refresh to show that the run has ended.
      if (item !== undefined && !whole && own.status !== item.status) void refresh();
      setItem(own);
    },
    update: (update) => {
      switch (update.kind) {
        case 'curve':
          course.current.evaluations = update.evaluations;
          grow(course.current.points, update.points);
          break;
        case 'lost':
          course.current.lost = [...update.places];
          break;
        case 'metrics':
          grow(metrics.current[update.of], update.rows);
          break;
        case 'stale':
          setNews((last) => last + 1);
          void refresh();
          return;
      }
      setVersion((last) => last + 1);
    },
  });
  // Markup is parsed once for each version of the page, not with each live update.
  const target = useMemo(() => dataIn<Chart>(page, 'curve')?.levels?.[0]?.y, [page]);
  const words = useMemo(() => dataIn<TrainingInFile>(page, 'course')?.words, [page]);
  useEffect(() => onState(state), [state]);
  useEffect(() => {
    const asks = question === null ? '' : 'asks: ';
    if (page)
      document.title = `${asks}${item?.status === 'running' ? `${item.done}/${item.of} ` : ''}${page.title}`;
  }, [page, item, question]);
  if (page === undefined)
    return html`<main><p class="empty" role="status">${problem || `Loading ${name} …`}</p></main>`;
  const hasCurve = item?.kind === 'run' && course.current.points.length > 0;
  const isTraining = item?.kind === 'training';
  const sections = item && isHolder(item) ? withItems(page.sections) : page.sections;
  return html`
${problem && html`<p class="failure" role="status">${problem}</p>`}
<${Markup} markup=${page.header} />
${item && html`<${LiveLine} item=${item} name=${name} />`}
${item && !isHolder(item) && html`<${Steering} item=${item} />`}
${item && isLive(item) && question && html`<${Question} key=${question.question} name=${name} question=${question} onAnswered=${() => setNews((last) => last + 1)} />`}
<${SectionLinks} sections=${sections} />
<main>${sections.map(
    ({ id, title, html: markup }) => html`<${Section} key=${id} id=${id} title=${title}>
${
  id === 'curve' && hasCurve
    ? html`<${LiveCurve} name=${name} course=${course.current} version=${version} confirmed=${item.confirmed} ci95=${item.ci95} target=${target} />`
    : id === 'items'
      ? html`<${LiveTable} path=${itemAddress(name)} query=${query} within=${name} columns=${columnsOf(page.keys)} />`
      : id === 'course' && isTraining
        ? html`<${TrainingCharts} rows=${metrics.current} words=${words} version=${version} />`
        : html`<${Markup} markup=${markup} />`
}
</${Section}>`,
  )}</main>
<footer class="footer"><${Markup} markup=${page.footer} /></footer>`;
}

/** With columns for the keys that differ between the runs. */
const columnsOf = (keys: readonly string[] = []): readonly string[] => [
  ...['status', ...keys, 'seed', 'progress', 'observed', 'confirmed', 'started'],
];

/** The table of a study's runs is live. */
function withItems(sections: Page['sections']): Page['sections'] {
  const items = { id: 'items', title: 'Runs', html: '' };
  const at = sections.findIndex(({ id }) => id === 'runs' || id === 'repeats');
  return at < 0 ? [...sections, items] : sections.toSpliced(at, 1, items);
}

const isLive = ({ status }: Item) => status === 'running' || status === 'paused';

/** The first block of JSON in a section's markup. */
function dataIn<T>(page: Page | undefined, id: string): T | null {
  const markup = page?.sections.find((section) => section.id === id)?.html ?? '';
  return jsonIn<T>(new DOMParser().parseFromString(markup, 'text/html').querySelector('figure script'));
}

function LiveLine({ item, name }: { item: Item; name: string }) {
  const { done, of } = item;
  return html`<div class="live-line" role="region" aria-label="State of the work">
<span><b>${done}</b> of ${of} ${unitOf(item)}</span>
<progress aria-label="progress" value=${of === 0 ? 0 : Math.min(1, done / of)} max="1"></progress>
${
  item.kind === 'run' &&
  html`<${IterationForm} name=${name} />
<a href=${`/search?${new URLSearchParams({ of: name })}`}>Search prompts and replies</a>`
}
</div>`;
}

function IterationForm({ name, iteration }: { name: string; iteration?: number }) {
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const value = fieldOf(event.currentTarget, 'iteration');
    if (value !== '') go(itemAddress(name, { iteration: value }));
  };
  return html`<form class="iteration-form" onSubmit=${submit}><label>Iteration <input name="iteration" type="number" min="0" inputmode="numeric" value=${iteration ?? ''} key=${iteration} /></label> <button type="submit">Open</button></form>`;
}

/** The page of an iteration: episodes, prompts, replies and policies. */
function IterationPage({
  name,
  iteration,
  onState,
}: {
  name: string;
  iteration: number;
  onState: (state: LinkState) => void;
}) {
  const [item, setItem] = useState<Item | undefined>(undefined);
  const { page, problem, refresh } = usePage(
    `/api/page?${new URLSearchParams({ of: name, iteration: String(iteration) })}`,
  );
  const state = useLive([name], {
    items: ({ changed }) => {
      const own = changed.find((one) => one.name === name);
      if (own) setItem(own);
    },
    // Only the last iterations can still change.
    update: ({ kind }) => {
      if (kind === 'stale' && item !== undefined && iteration >= item.done) void refresh();
    },
  });
  useEffect(() => onState(state), [state]);
  useEffect(() => {
    if (page) document.title = page.title;
  }, [page]);
  const last = item?.done ?? iteration;
  const step = (by: number) => {
    const to = iteration + by;
    if (to >= 0 && to <= last) go(itemAddress(name, { iteration: to }), true);
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
  const difference = new URLSearchParams({
    a: name,
    aIteration: String(iteration - 1),
    b: name,
    bIteration: String(iteration),
  });
  return html`<div class="live-line iteration-line" role="region" aria-label="Iteration">
<a href=${itemAddress(name)}>${name}</a>
<b>${iteration === 0 ? 'Warm-up' : `Iteration ${iteration}`} of ${last}</b>
<span><button type="button" disabled=${iteration <= 0} onClick=${() => step(-1)}>← previous</button> <button type="button" disabled=${iteration >= last} onClick=${() => step(1)}>next →</button></span>
<${IterationForm} name=${name} iteration=${iteration} />
${iteration > 1 && html`<a href=${`/diff?${difference}`}>Compare with iteration ${iteration - 1}</a>`}
</div>
${
  page === undefined || problem !== ''
    ? html`<main><p class="empty" role="status">${problem || 'Loading …'}</p></main>`
    : html`<${Markup} markup=${page.header} />
<${SectionLinks} sections=${page.sections} />
<main>${page.sections.map(({ id, title, html: markup }) => html`<${Section} key=${`${iteration} ${id}`} id=${id} title=${title}><${Markup} markup=${markup} /></${Section}>`)}</main>`
}`;
}

/** Two iterations side by side. */
export function DifferencePage({ query }: { query: URLSearchParams }) {
  const { page, problem } = usePage(`/api/diff?${query}`);
  const [a, b] = [query.get('a') ?? '', query.get('b') ?? ''];
  useEffect(() => {
    if (page) document.title = page.title;
  }, [page]);
  const swapped = new URLSearchParams();
  for (const [key, value] of query) swapped.set((key.startsWith('a') ? 'b' : 'a') + key.slice(1), value);
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const [left, right] = [fieldOf(event.currentTarget, 'left'), fieldOf(event.currentTarget, 'right')];
    go(
      `/diff?${new URLSearchParams({ a, b, ...(left && { aIteration: left }), ...(right && { bIteration: right }) })}`,
    );
  };
  return html`<form class="live-line" aria-label="Iterations to compare" onSubmit=${submit}>
<label>${a}, iteration <input name="left" type="number" min="0" value=${query.get('aIteration') ?? ''} placeholder="best" /></label>
<label>${b}, iteration <input name="right" type="number" min="0" value=${query.get('bIteration') ?? ''} placeholder="best" /></label>
<button type="submit">Compare</button> <a href=${`/diff?${swapped}`}>Swap</a>
${
  a !== b &&
  html`<a href=${`/compare?${new URLSearchParams([
    ['of', a],
    ['of', b],
  ])}`}>Compare curves</a>`
}
</form>
${
  page === undefined
    ? html`<main><p class="empty" role="status">${problem || 'Comparing …'}</p></main>`
    : html`<${Markup} markup=${page.header} />
<${SectionLinks} sections=${page.sections} />
<main>${page.sections.map(({ id, title, html: markup }) => html`<${Section} key=${id} id=${id} title=${title}><${Markup} markup=${markup} /></${Section}>`)}</main>`
}`;
}
