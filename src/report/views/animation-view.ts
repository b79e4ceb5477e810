import type { Config } from '../../config/config.js';
import { type Html, html } from '../../format/html.js';
import { formatReturn, plural } from '../../format/numbers.js';
import { placeName } from '../../runs/facts.js';
import type { Animations, ShownEpisode } from '../data/run-data.js';

/** The episodes side by side; undefined where there are no pictures. */
export function animationView(
  { episodes, files }: Animations,
  config: Pick<Config, 'candidates' | 'render'>,
): Html | undefined {
  if (episodes.length === 0 && files.length === 0) return undefined;
  return html`${
    episodes.length > 0 &&
    html`<div class="animations">${episodes.map((episode) => animation(episode, config))}</div>
<p class="note">Each plays the first episode of its evaluation.</p>`
  }
${files.length > 0 && html`<p class="note">Drawn as the run went, the best candidate of iteration ${files.map(({ iteration, file }, i) => html`${i > 0 && ', '}<a href="${file}">${iteration}</a>`)}.</p>`}`;
}

function animation(episode: ShownEpisode, config: Pick<Config, 'candidates'>): Html {
  const { name, score, length, recorded, svg } = episode;
  const place = placeName(episode, config);
  const outcome = `return ${formatReturn(episode.return)} in ${plural(length, 'step')}`;
  return html`<figure>
<img src="${svgDataUri(svg)}" alt="Animation of ${name.toLowerCase()} policy, ${place}: ${outcome}">
<figcaption><b>${name}</b>, ${place}: ${outcome}; its mean over the evaluation is ${formatReturn(score)}.${recorded !== episode.return && html` <span class="warn-text">The evaluation recorded ${formatReturn(recorded)} for this episode: the environment is not what it was then.</span>`}</figcaption>
</figure>`;
}

/** An image of the document: nearly as short, and without a character that HTML would have to escape. */
function svgDataUri(svg: string): string {
  return `data:image/svg+xml,${svg.replace(/[%#"'`<>&\n]|[^ -~]/gu, (character) => encodeURIComponent(character).replace("'", '%27'))}`;
}
