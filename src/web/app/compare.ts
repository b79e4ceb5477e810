/** The learning curves of several runs in one chart. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Chart } from '../chart.js';
import type { Item } from '../messages.js';
import { ChartFigure } from './chart-figure.js';
import { html } from './html.js';
import { grow, type LinkState, useLive } from './live.js';
import { type LiveCourse, newCourse } from './live-curve.js';
import { Section } from './sections.js';
import { itemAddress, shownReturn, statusMark } from './words.js';

interface Props {
  readonly query: URLSearchParams;
  readonly onState: (state: LinkState) => void;
}

export function ComparePage({ onState, query }: Props) {
  const names = [...new Set(query.getAll('of'))];
  const courses = useRef(new Map<string, LiveCourse>());
  const [items, setItems] = useState<ReadonlyMap<string, Item>>(new Map());
  const [version, setVersion] = useState(0);
  const state = useLive(names, {
    items: ({ changed }) =>
      setItems((known) => new Map([...known, ...changed.map((item) => [item.name, item] as const)])),
    update: (update) => {
      if (update.kind !== 'curve') return;
      const course = courses.current.get(update.of) ?? newCourse();
      courses.current.set(update.of, course);
      course.evaluations = update.evaluations;
      grow(course.points, update.points);
      setVersion((last) => last + 1);
    },
  });
  useEffect(() => onState(state), [state]);
  useEffect(() => {
    document.title = `Comparison of ${names.length} runs`;
  }, [names.length]);
  const chart = useMemo(() => chartOf(names, courses.current), [version, names.join('\n')]);
  const [a, b] = names;
  return html`<header><p class="kicker">policyloop comparison</p><h1>${names.length} runs</h1></header>
<main>
<${Section} id="curves" title="Learning curves"><${ChartFigure} chart=${chart} /><//>
<${Section} id="figures" title="Results">
<div class="scroll" tabindex="0"><table class="stack">
<thead><tr><th scope="col">run</th><th scope="col">status</th><th scope="col">environment</th><th scope="col">model</th><th scope="col" class="number">iterations</th><th scope="col" class="number">observed</th><th scope="col" class="number">confirmed</th></tr></thead>
<tbody>${names.map((name) => {
    const item = items.get(name);
    return html`<tr key=${name}><th scope="row"><a href=${itemAddress(name)}>${name}</a></th>
<td data-label="status">${item ? statusMark(item.status) : 'missing'}</td>
<td data-label="environment">${item?.environment ?? '–'}</td>
<td data-label="model">${item?.model ?? '–'}</td>
<td class="number" data-label="iterations">${item ? `${item.done}/${item.of}` : '–'}</td>
<td class="number" data-label="observed">${shownReturn(item?.observed)}</td>
<td class="number" data-label="confirmed">${shownReturn(item?.confirmed)}</td></tr>`;
  })}</tbody></table></div>
${names.length === 2 && a !== undefined && b !== undefined && html`<p><a href=${`/diff?${new URLSearchParams({ a, b })}`}>Compare the configs and the best iterations (prompts, replies, parameters)</a></p>`}
<p class="note">Single runs differ by chance; compare groups of repeats with <code>policyloop compare</code>.</p>
<//>
</main>`;
}

function chartOf(names: readonly string[], courses: ReadonlyMap<string, LiveCourse>): Chart {
  const maps = names.map(
    (name) =>
      new Map((courses.get(name)?.points ?? []).map(([iteration, , , , , best]) => [iteration, best])),
  );
  const at = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort((x, y) => x - y);
  return {
    label: `Learning curves of ${names.join(', ')}.`,
    x: { title: 'Iteration', kind: 'whole' },
    y: { title: 'Best so far' },
    height: 420,
    at,
    series: names.map((label, i) => ({
      ...{ label, draw: 'steps', colour: `arm-${i % 8}`, width: 2, isDashed: i >= 8 },
      values: at.map((place) => maps[i]!.get(place) ?? null),
    })),
  };
}
