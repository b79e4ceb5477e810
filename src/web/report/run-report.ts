import { type Content, Part } from '../../base/text/content.js';
import { html, preformatted } from '../../base/text/html.js';
import { formatReturn } from '../../base/text/numbers.js';
import { bestEntry } from '../../rollout/replay-buffer.js';
import { candidateName } from '../../runs/summary.js';
import { type Page, pageHtml, sectionsOf } from '../page.js';
import { writtenByNote } from '../study.js';
import { parameterHeatMap } from './charts/heat-map.js';
import { learningCurve } from './charts/learning-curve.js';
import { memberFigures, revisionFigures } from './data/contributions.js';
import { lineage } from './data/lineage.js';
import {
  type LoggedProposal,
  loggedProposals,
  memberAt,
  type RunData,
  skipRevisions,
} from './data/proposals.js';
import { type ShownCalls, shownCalls } from './data/shown-calls.js';
import { type TaskLabels, taskLabels } from './data/task-labels.js';
import { callLog } from './views/call-log.js';
import { memberView, revisionView } from './views/contributions-view.js';
import { failureView } from './views/failure-view.js';
import { predictionView } from './views/model-view.js';
import { confirmationTable, headline, reproduction, runHeader, warningsView } from './views/overview.js';
import { policyViews } from './views/policy-view.js';
import { lineageView } from './views/program-view.js';
import { UsageByIteration, usageView } from './views/usage-view.js';

/** Renders `report.html`, a single file that opens from disk. Deterministic: the same data give the same bytes. */
export const renderReport = (data: RunData, episodes?: Content): string => pageHtml(runPage(data, episodes));

/**
 * @param episodes animations of some policies
 * @param linkOf returns the link of an evaluation (default: to its entry in the log)
 */
export function runPage(data: RunData, episodes: Content, linkOf?: ShownCalls['link']): Page {
  const { config, configYaml, events, manifest } = data;
  const usage = new UsageByIteration();
  const proposals = loggedProposals(data, (call) => usage.add(call));
  const selection = shownCalls(data, proposals);
  const labels = taskLabels(manifest.environment, data.policy, manifest.spec);
  const arePrograms = data.policy.kind === 'program';
  return {
    title: `${manifest.run}: ${manifest.environment} with ${manifest.model}`,
    header: runHeader(data),
    sections: sectionsOf(
      ['result', 'Result', headline(data, proposals)],
      ['warnings', 'Warnings', warningsView(data)],
      ['curve', 'Learning curve', learningCurve(data, proposals, linkOf ?? selection.link)],
      ['predictions', 'Predicted returns', predictionView(proposals)],
      ['episodes', 'Episodes', episodes],
      ['parameters', 'Parameters', !arePrograms && parameterHeatMap(data, labels)],
      ['policy', arePrograms ? 'Best program' : 'Best policy', bestPolicy(data, labels, proposals)],
      [
        'lineage',
        'Lineage',
        arePrograms && lineageView(lineage(data, proposals, selection.calls), config, selection.link),
      ],
      ['revisions', 'Revisions', revisionView(revisionFigures(events, data.calls))],
      ['members', 'Contributions', memberView(memberFigures(proposals))],
      ['failures', 'Failures', failureView(proposals, config, selection.link)],
      ['usage', 'Usage', usageView(manifest, usage.totals)],
      ['log', 'Log', callLog(data, selection, skipRevisions(proposals).length)],
      ['config', 'Config', preformatted(configYaml)],
      ['reproduce', 'Reproduce', reproduction(data)],
    ),
    footer: writtenByNote(manifest.versions.policyloop, manifest.updated),
  };
}

/** Shows the confirmed policy or, if none was confirmed, the policy with the highest score. */
function bestPolicy(data: RunData, labels: TaskLabels, proposals: readonly LoggedProposal[]): Content {
  const { confirmed } = data;
  const observed = bestEntry(data.entries);
  const best = confirmed ?? observed;
  if (best === undefined) return html`<p class="empty">No evaluations.</p>`;
  const reasonText =
    confirmed === null
      ? `highest observed mean return (${formatReturn(observed?.score)}), not confirmed`
      : `best on fresh episodes (confirmed mean return ${formatReturn(confirmed.mean)})`;
  const { vector, view } = policyViews(best, data, labels);
  const by = memberAt(proposals, best);
  return html`<p>From ${candidateName(best, data.config)}${by === undefined ? '' : ` (${by})`}: ${reasonText}.</p>
<div class="side-by-side">
${view}
${confirmationTable(data.manifest.confirmations, data.config)}
</div>
${vector}`;
}

/** An animation of an episode: the picture itself, or its address on the server. */
export interface ShownAnimation {
  readonly picture: { readonly svg: string } | { readonly address: string };
  readonly alt: string;
  readonly caption: Content;
}

/** Shows animations side by side; undefined if there are none. */
export const animationView = (shown: readonly ShownAnimation[]): Content =>
  shown.length === 0
    ? undefined
    : html`<div class="animations">${shown.map(({ alt, caption, picture }) => html`<figure>${new Part('episode-picture', { ...picture, alt })}<figcaption>${caption}</figcaption></figure>`)}</div>
<p class="note">Each animation shows the first episode of its evaluation.</p>`;
