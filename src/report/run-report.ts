import type { Config } from '../config/config.js';
import { type Html, html, preformatted } from '../format/html.js';
import { apart, formatReturn, formatTime, plural } from '../format/numbers.js';
import { bestEntry } from '../rollout/replay-buffer.js';
import { adaptationsIn } from '../runs/adaptations.js';
import { placeName } from '../runs/summary.js';
import { type Page, page, type Section } from '../web/page.js';
import { parameterHeatMap } from './charts/heat-map.js';
import { learningCurve } from './charts/learning-curve.js';
import { feedbackFigures, memberFigures, revisionFigures } from './data/contributions.js';
import { lineage } from './data/lineage.js';
import {
  type Animations,
  loggedProposals,
  onlyProposals,
  type RunData,
  type ShownEpisode,
} from './data/proposals.js';
import { CallKeeper } from './data/shown-calls.js';
import { gridMap, type TaskLabels, taskLabels } from './data/task-labels.js';
import { callLog } from './views/call-log.js';
import { criticView, feedbackView, memberView } from './views/contributions-view.js';
import { failureView } from './views/failure-view.js';
import { learningView, predictionView } from './views/model-view.js';
import { confirmationTable, headline, reproduction, runHeader, warnings } from './views/overview.js';
import { policyView } from './views/policy-view.js';
import { failedPrograms, lineageView, sourceView } from './views/program-view.js';
import { UsageByIteration, usageView } from './views/usage-view.js';

/**
 * Renders `report.html`: a run as a single file that opens from disk. Deterministic: the same data give the same bytes.
 */
export const renderReport = (data: RunData): string => page(runPage(data));

export function runPage(data: RunData): Page {
  const usage = new UsageByIteration(data.config);
  const keeper = new CallKeeper(data);
  const proposals = loggedProposals(data, (call, index) => {
    usage.add(call);
    keeper.add(call, index);
  });
  const shown = keeper.shown(proposals);
  const labels = taskLabels(data.manifest.environment, data.policy, data.manifest.spec);
  const notices = warnings(data);
  const animations = animationView(data.animations, data.config);
  const learning = learningView(adaptationsIn(data.events), data.manifest.activeMs);
  const critic = data.config.critic && criticView(revisionFigures(data.events, data.calls));
  const feedback = data.config.feedback && feedbackView(feedbackFigures(data.events, data.calls));
  const predictions = predictionView(proposals);
  const members = memberView(memberFigures(proposals));
  const arePrograms = data.policy.kind === 'program';
  const descent = arePrograms
    ? lineageView(lineage(data, proposals, shown.calls), data.config, shown.link)
    : undefined;
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: headline(data, proposals) },
    notices && { id: 'warnings', title: 'Warnings', content: notices },
    { id: 'curve', title: 'Learning curve', content: learningCurve(data, proposals, shown.link) },
    predictions && { id: 'predictions', title: 'Predicted returns', content: predictions },
    animations && { id: 'episodes', title: 'Episodes', content: animations },
    arePrograms
      ? undefined
      : { id: 'parameters', title: 'Parameters', content: parameterHeatMap(data, labels) },
    {
      ...{ id: 'policy', title: arePrograms ? 'Best program' : 'Best policy' },
      content: bestPolicy(data, labels),
    },
    descent && { id: 'lineage', title: 'Lineage', content: descent },
    critic && { id: 'critic', title: 'Critic', content: critic },
    feedback && { id: 'feedback', title: 'Feedback', content: feedback },
    members && {
      id: 'members',
      title: arePrograms && data.config.model.provider !== 'portfolio' ? 'Tuning' : 'Members',
      content: members,
    },
    {
      ...{ id: 'failures', title: 'Failures' },
      content: html`${failureView(proposals, data.config, shown.link)}${failedPrograms(data, proposals, shown)}`,
    },
    learning && { id: 'learning', title: 'Learning', content: learning },
    { id: 'usage', title: 'Usage', content: usageView(data.manifest, usage.totals) },
    { id: 'log', title: 'Log', content: callLog(data, shown, onlyProposals(proposals).length) },
    { id: 'config', title: 'Config', content: preformatted(data.configYaml) },
    { id: 'reproduce', title: 'Reproduce', content: reproduction(data) },
  ];
  return {
    title: `${data.manifest.run}: ${data.manifest.environment} by ${data.manifest.model}`,
    header: runHeader(data),
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>State of the run as of ${formatTime(data.manifest.updated)}. Written by policyloop ${data.manifest.versions.policyloop}.</p>`,
  };
}

/** The policy with the highest confirmed mean or, if none was confirmed, the highest score. */
function bestPolicy(data: RunData, labels: TaskLabels): Html {
  const { confirmed } = data;
  const observed = bestEntry(data.entries);
  const best = confirmed ?? observed;
  if (best === undefined) return html`<p class="empty">No evaluations.</p>`;
  const why =
    confirmed === null
      ? `highest observed mean return, ${formatReturn(observed?.score)}, not confirmed`
      : `highest confirmed mean return, ${formatReturn(confirmed.mean)}`;
  const grid =
    data.policy.kind === 'q-table' ? gridMap(data.config.environment, data.policy.states) : undefined;
  return html`<p>From ${placeName(best, data.config)}: ${why}.</p>
<div class="side-by-side">
${best.program === undefined ? policyView(best.parameters, data.policy, data.parameters, labels, grid) : sourceView(best.program)}
${confirmationTable(data.manifest.confirmations, data.config)}
</div>
${data.policy.kind !== 'program' && html`<details><summary>Parameter vector</summary>${preformatted(`[${best.parameters.join(', ')}]`)}</details>`}`;
}

/** Shows the animations side by side; undefined if there are none. */
function animationView(
  { episodes, files }: Animations,
  config: Pick<Config, 'candidates' | 'render'>,
): Html | undefined {
  if (episodes.length === 0 && files.length === 0) return undefined;
  return html`${
    episodes.length > 0 &&
    html`<div class="animations">${episodes.map((episode) => animation(episode, config))}</div>
<p class="note">Each animation shows the first episode of its evaluation.</p>`
  }
${files.length > 0 && html`<p class="note">Best candidates recorded during the run, by iteration: ${files.map(({ iteration, file }, i) => html`${i > 0 && ', '}<a href="${file}">${iteration}</a>`)}.</p>`}`;
}

function animation(episode: ShownEpisode, config: Pick<Config, 'candidates'>): Html {
  const { name, score, length, recorded, svg } = episode;
  const place = placeName(episode, config);
  const asText = apart([episode.return, recorded, score]);
  const outcome = `return ${asText(episode.return)} in ${plural(length, 'step')}`;
  return html`<figure>
<img src="${svgDataUri(svg)}" alt="Animation of ${name.toLowerCase()} policy, ${place}: ${outcome}">
<figcaption><b>${name}</b>, ${place}: ${outcome}; mean return of the evaluation: ${asText(score)}.${recorded !== episode.return && html` <span class="warn-text">The evaluation recorded ${asText(recorded)} for this episode; the environment has changed since.</span>`}</figcaption>
</figure>`;
}

/** Encodes an SVG document as a data URI, almost as short and without characters that need escaping in HTML. */
function svgDataUri(svg: string): string {
  return `data:image/svg+xml,${svg.replace(/[%#"'`<>&\n]|[^ -~]/gu, (character) => encodeURIComponent(character).replace("'", '%27'))}`;
}
