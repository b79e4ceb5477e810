/** The learning curves of several runs in one chart. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Chart, colour, Toggle } from './chart.js';
import { newCourse } from './curve.js';
import { grow, useLive } from './live.js';
import { Section } from './sections.js';
import { html, itemAddress, shownReturn, statusMark } from './words.js';

/** @typedef {import('./words.js').Item} Item */
/** @typedef {import('./curve.js').Course} Course */

const colours = 8;

/** @param {{ query: URLSearchParams, onState: (state: import('./live.js').LinkState) => void }} props */
export function ComparePage({ query, onState }) {
  const names = [...new Set(query.getAll('of'))];
  const courses = useRef(/** @type {Map<string, Course>} */ (new Map()));
  const [items, setItems] = useState(/** @type {ReadonlyMap<string, Item>} */ (new Map()));
  const [version, setVersion] = useState(0);
  const [hidden, setHidden] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
  const [kind, setKind] = useState(/** @type {'best' | 'scores'} */ ('best'));
  const state = useLive(names, {
    items: ({ changed }) =>
      setItems(
        (known) => new Map([...known, ...changed.map((item) => /** @type {const} */ ([item.name, item]))]),
      ),
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
  const data = useMemo(
    () =>
      align(
        names.map((name) => courses.current.get(name) ?? newCourse()),
        kind,
      ),
    [version, kind, names.join('\n')],
  );
  const shown = [
    data[0] ?? [],
    ...data.slice(1).map((values, i) => (hidden.has(names[i] ?? '') ? values.map(() => null) : values)),
  ];
  const lines = () =>
    names.map((name, i) => ({
      label: name,
      kind: kind === 'best' ? /** @type {const} */ ('steps') : /** @type {const} */ ('line'),
      stroke: colour(`--choice-${i % colours}`),
      width: 2,
      ...(i >= colours && { dash: [6, 4] }),
    }));
  /** @param {string} name @param {boolean} isOn */
  const show = (name, isOn) => {
    const next = new Set(hidden);
    if (isOn) next.delete(name);
    else next.add(name);
    setHidden(next);
  };
  const [a, b] = names;
  return html`<header><p class="kicker">policyloop comparison</p><h1>${names.length} runs</h1></header>
<main>
<${Section} id="curves" title="Learning curves">
<fieldset class="filter"><legend>Show</legend>
<label><input type="radio" name="curve" checked=${kind === 'best'} onChange=${() => setKind('best')} /> best so far</label>
<label><input type="radio" name="curve" checked=${kind === 'scores'} onChange=${() => setKind('scores')} /> best per iteration</label>
</fieldset>
<${Chart} label=${`Learning curves of ${names.join(', ')}.`} height=${420} xTitle="Iteration" lines=${lines} data=${shown} />
<ul class="legend toggles column">
<${Toggle} label="all" mark="" isOn=${hidden.size === 0} onChange=${(/** @type {boolean} */ isOn) => setHidden(new Set(isOn ? [] : names))} />
${names.map((name, i) => html`<${Toggle} key=${name} label=${name} mark=${html`<span class=${`swatch choice-${i % colours}${i >= colours ? ' dashed' : ''}`}></span>`} isOn=${!hidden.has(name)} onChange=${(/** @type {boolean} */ isOn) => show(name, isOn)} />`)}
</ul>
<//>
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

/**
 * Aligns curves: the iterations of all runs, then each run's values at these (best so far, or best of the iteration).
 * @param {readonly Course[]} courses @param {'best' | 'scores'} kind
 */
function align(courses, kind) {
  const maps = courses.map(({ points }) => {
    const values = new Map();
    for (const [iteration, , score, , , best] of points)
      values.set(iteration, kind === 'best' ? best : Math.max(values.get(iteration) ?? -Infinity, score));
    return values;
  });
  const places = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort((x, y) => x - y);
  return [places, ...maps.map((map) => places.map((place) => map.get(place) ?? null))];
}
