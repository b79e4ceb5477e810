/** The page of a play: its results, and a transcript of every game. */
import { join } from 'node:path';
import { type Html, html, preformatted } from '../format/html.js';
import {
  formatCompact,
  formatCost,
  formatDuration,
  formatReturn,
  formatTime,
  plural,
} from '../format/numbers.js';
import { shellWord } from '../format/shell-word.js';
import { type Page, page, type Section } from '../report/page/page.js';
import { tile } from '../report/views/overview.js';
import { versionTable } from '../report/views/reproduce.js';
import type { Manifest } from '../runs/manifest.js';
import { openLogs, runFiles } from '../runs/reader.js';
import { describeReason, summaryOf, formatCaps, formatFaults, formatUsage } from '../runs/summary.js';
import { replaceFile } from '../storage/files.js';
import { readOwnText } from '../storage/regular-file.js';
import { type PlayFigures, playFigures } from './play-figures.js';
import { gamesOf } from './play-games.js';
import { percent } from './play-result.js';
import { transcripts } from './transcript-view.js';

/** Writes `report.html` of the play at `path`; returns its path. */
export function writePlayPage(path: string): string {
  const file = join(path, runFiles.report);
  replaceFile(file, page(playPage(path)));
  return file;
}

/** The content of the page for the play at `path`. */
export function playPage(path: string): Page {
  const { manifest, status } = summaryOf(path);
  const recorded = openLogs(path, true);
  const games = gamesOf(recorded);
  const calls = [...recorded.calls];
  const figures = playFigures(games);
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: headline(figures, manifest) },
    recorded.faults.length === 0
      ? undefined
      : {
          id: 'warnings',
          title: 'Warnings',
          content: html`<ul class="warnings">${recorded.faults.map((fault) => html`<li>${fault}</li>`)}</ul>`,
        },
    { id: 'games', title: 'Games', content: transcripts(games, calls, manifest.run) },
    calls.length === 0 ? undefined : { id: 'usage', title: 'Usage', content: usage(manifest) },
    {
      id: 'config',
      title: 'Config',
      content: preformatted(readOwnText(join(path, runFiles.config))),
    },
    { id: 'reproduce', title: 'Reproduce', content: reproduction(manifest) },
  ];
  const who = manifest.play?.player === 'model' ? manifest.model : (manifest.play?.player ?? manifest.model);
  return {
    title: `${manifest.run}: ${manifest.environment} played by ${who}`,
    header: html`<header>
<p class="kicker">policyloop play <b>${manifest.run}</b></p>
<h1>${manifest.environment} <span class="by">played by</span> ${who}</h1>
<p class="state"><span class="status ${status}">${status}</span> ${status === 'completed' && manifest.reason?.kind === 'iterations' ? 'after all games' : describeReason({ status, ...(manifest.reason && { reason: manifest.reason }) })}</p>
<dl class="facts">
<div><dt>seed</dt><dd>${manifest.seed}</dd></div>
<div><dt>started</dt><dd>${formatTime(manifest.created)}</dd></div>
<div><dt>policyloop</dt><dd>${manifest.versions.policyloop}</dd></div>
</dl>
</header>`,
    sections: sections.filter((section) => section !== undefined),
    footer: html`<p>State of the run as of ${formatTime(manifest.updated)}. Written by policyloop ${manifest.versions.policyloop}.</p>`,
  };
}

const interval = (ends: readonly [number, number] | null, games: number): Html =>
  ends === null
    ? html`of ${plural(games, 'game')}`
    : html`<b>${formatReturn(ends[0])} … ${formatReturn(ends[1])}</b> is the 95 % interval, over ${plural(games, 'game')}`;

function headline(figures: PlayFigures, { activeMs, iterations, usage }: Manifest): Html {
  const { games, lost, maxScore, meanLength, meanReturn, meanScore, truncated, unclear, won } = figures;
  const shown = (value: number | null) => (value === null ? '–' : formatReturn(value));
  const tokens = usage.promptTokens + usage.completionTokens;
  return html`<dl class="headline main">
${meanScore !== null && tile(`Mean score${maxScore === null ? '' : ` of ${formatReturn(maxScore)}`}`, shown(meanScore), interval(figures.scoreCi95, games), 'confirmed')}
${tile('Mean return', shown(meanReturn), interval(figures.returnCi95, games), meanScore === null ? 'confirmed' : '')}
</dl>
<dl class="headline">
${tile('Games', games, `of ${iterations.of}`)}
${won !== null && tile('Won', percent(won), lost === null || lost === 0 ? 'none lost' : `${percent(lost)} lost`)}
${tile('Mean length', meanLength === null ? '–' : formatReturn(meanLength), truncated === 0 ? 'no game was cut' : `${plural(truncated, 'game')} cut by a limit of steps`)}
${unclear !== null && tile('Unclear replies', percent(unclear), 'named no action')}
${tokens > 0 && tile('Tokens', formatCompact(tokens), `${formatCompact(usage.promptTokens)} in, ${formatCompact(usage.completionTokens)} out`)}
${usage.cost !== undefined && tile('Cost', formatCost(usage.cost), 'in the currency of the price')}
${tile('Time', formatDuration(activeMs), usage.latencyMs >= 1 ? `${formatDuration(usage.latencyMs)} of model calls` : 'none of it in model calls')}
</dl>`;
}

const usage = ({ caps, usage }: Manifest): Html => html`<p>${formatUsage(usage)}</p>
${caps !== undefined && caps.length > 0 && html`<p>Limits: ${formatCaps(caps)}</p>`}
${usage.faults !== undefined && Object.keys(usage.faults).length > 0 && html`<p>Faults: ${formatFaults(usage.faults)}</p>`}`;

function reproduction(manifest: Manifest): Html {
  const again = shellWord(`../${manifest.run}-again`);
  const commands = [
    '# the same games again, in a new directory',
    `npx policyloop play config.yaml --run-dir ${again}`,
    ...(manifest.play?.player === 'model'
      ? [
          '# the same without asking the model: with the replies that are recorded here',
          `npx policyloop play config.yaml --run-dir ${again} 'model={provider: replayed, run: .}'`,
        ]
      : []),
    '# what chance reaches in the same games, and the difference',
    `npx policyloop play config.yaml player=random --run-dir ../${manifest.run}-random`,
    `npx policyloop compare . ../${manifest.run}-random`,
  ];
  return html`<p>In the directory of this file:</p>
${preformatted(commands.join('\n'))}
${versionTable(manifest)}`;
}
