/** The page of an agent run: its results, and transcripts of its games. */

import { join } from 'node:path';
import { replaceFile } from '../base/files/files.js';
import { readOwnText } from '../base/files/regular-file.js';
import { groupBy } from '../base/grouped.js';
import type { Content } from '../base/text/content.js';
import { html, preformatted } from '../base/text/html.js';
import {
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatNumber,
  formatReturn,
  formatTime,
  plural,
} from '../base/text/numbers.js';
import { excerpt, shellWord } from '../base/text/one-line.js';
import type { CallRecord } from '../runs/calls.js';
import type { GameRecord, GameTurn } from '../runs/events.js';
import type { Manifest } from '../runs/manifest.js';
import { openLogs, runFiles } from '../runs/reader.js';
import { endText, formatCaps, formatFaults, formatUsage, summaryOf } from '../runs/summary.js';
import { type Page, pageHtml, sectionsOf } from '../web/page.js';
import { versionFacts } from '../web/report/views/overview.js';
import { pageHeader, resultTile, tile, warningList, writtenByNote } from '../web/study.js';
import { gamesOf, type PlayFigures, percent, playFigures } from './play-result.js';

/** Writes the `report.html` of the agent run at `path`, and returns the file's path. */
export function writePlayPage(path: string): string {
  const file = join(path, runFiles.report);
  replaceFile(file, pageHtml(playPage(path)));
  return file;
}

export function playPage(path: string): Page {
  const summary = summaryOf(path);
  const { manifest, status } = summary;
  const logs = openLogs(path, true);
  const games = gamesOf(logs);
  const calls = [...logs.calls];
  const figures = playFigures(games);
  const name = manifest.play?.player === 'model' ? manifest.model : (manifest.play?.player ?? manifest.model);
  return {
    title: `${manifest.run}: ${manifest.environment} played by ${name}`,
    header: pageHeader({
      kicker: html`agent run <b>${manifest.run}</b>`,
      title: html`${manifest.environment} <span class="by">played by</span> ${name}`,
      status,
      state: endText(summary, 'games'),
      facts: [
        ['seed', manifest.seed],
        ['started', formatTime(manifest.created)],
        ['policyloop', manifest.versions.policyloop],
      ],
    }),
    sections: sectionsOf(
      ['result', 'Result', headline(figures, manifest)],
      ['warnings', 'Warnings', warningList(logs.faults)],
      ['games', 'Games', transcripts(games, calls, manifest.run)],
      ['usage', 'Usage', calls.length > 0 && usageView(manifest)],
      ['config', 'Config', preformatted(readOwnText(join(path, runFiles.config)))],
      ['reproduce', 'Reproduce', reproduction(manifest)],
    ),
    footer: writtenByNote(manifest.versions.policyloop, manifest.updated),
  };
}

function headline(figures: PlayFigures, { activeMs, iterations, usage }: Manifest): Content {
  const { games, lost, maxScore, meanLength, meanReturn, meanScore, truncated, unclear, won } = figures;
  const overGames = (interval: unknown) => `${interval === null ? 'of' : 'over'} ${plural(games, 'game')}`;
  const tokens = usage.promptTokens + usage.completionTokens;
  return html`<dl class="headline main">
${meanScore !== null && resultTile(`Mean score${maxScore === null ? '' : ` of ${formatReturn(maxScore)}`}`, meanScore, figures.scoreCi95, overGames(figures.scoreCi95))}
${resultTile('Mean return', meanReturn, figures.returnCi95, overGames(figures.returnCi95))}
</dl>
<dl class="headline">
${tile('Games', games, `of ${iterations.of}`)}
${won !== null && tile('Won', percent(won), lost === null || lost === 0 ? 'none lost' : `${percent(lost)} lost`)}
${tile('Mean length', meanLength === null ? '–' : `${formatReturn(meanLength)} steps`, truncated === 0 ? 'no games cut off' : `${plural(truncated, 'game')} cut off by a step limit`)}
${unclear !== null && tile('Unclear replies', percent(unclear), 'named no action')}
${tokens > 0 && tile('Tokens', formatCompact(tokens), `${formatCompact(usage.promptTokens)} in, ${formatCompact(usage.completionTokens)} out`)}
${usage.cost !== undefined && tile('Cost', formatCost(usage.cost), costNote(usage))}
${tile('Time', formatDuration(activeMs), usage.latencyMs >= 1 ? `${formatDuration(usage.latencyMs)} in model calls` : 'no model calls')}
</dl>`;
}

const usageView = ({ caps, usage }: Manifest): Content => html`<p>${formatUsage(usage)}</p>
${caps !== undefined && caps.length > 0 && html`<p>Limits: ${formatCaps(caps)}</p>`}
${usage.faults !== undefined && Object.keys(usage.faults).length > 0 && html`<p>Faults: ${formatFaults(usage.faults)}</p>`}`;

function reproduction(manifest: Manifest): Content {
  const nextTo = (suffix: string) => shellWord(`../${manifest.run}-${suffix}`);
  const commands = [
    '# the same games again, in a new directory',
    `npx policyloop play config.yaml --run-dir ${nextTo('again')}`,
    ...(manifest.play?.player === 'model'
      ? [
          '# the same games with the recorded replies, without calling the model',
          `npx policyloop play config.yaml --run-dir ${nextTo('replayed')} 'model={provider: replayed, run: .}'`,
        ]
      : []),
    '# random actions in the same games, for comparison',
    `npx policyloop play config.yaml player=random --run-dir ${nextTo('random')}`,
    `npx policyloop compare . ${nextTo('random')}`,
  ];
  return html`<p>In the directory of this file:</p>
${preformatted(commands.join('\n'))}
${versionFacts(manifest)}`;
}

/** Maximum total length of the transcripts in characters, so that the page opens quickly. */
const maxCharacters = 4_000_000;

export function transcripts(
  games: readonly GameRecord[],
  calls: readonly CallRecord[],
  run: string,
): Content {
  if (games.length === 0) return html`<p class="empty">No complete games.</p>`;
  const [first] = calls;
  const system = first?.messages[0]?.role === 'system' ? first.messages[0].content : undefined;
  const callsByGame = groupBy(calls, gameKey);
  let remaining = maxCharacters;
  const shownGames = games.filter((game) => {
    remaining -= game.turns.reduce((sum, { message, reply = '' }) => sum + message.length + reply.length, 0);
    return remaining >= 0;
  });
  const isScored = games.some(({ score }) => score !== undefined);
  return html`${system !== undefined && html`<details><summary>System message <span class="muted">${plural(system.length, 'character')}</span></summary>${preformatted(system)}</details>`}
<p class="log-head" aria-hidden="true"><span>game</span><span>${isScored ? 'score' : 'return'}</span><span></span><span>outcome</span></p>
${shownGames.map((game) => transcript(game, callsByGame.get(gameKey(game)) ?? []))}
${shownGames.length < games.length && html`<p class="note">Not shown here: ${plural(games.length - shownGames.length, 'more game')}. To see one, use <code>policyloop show ${run} --game ${shownGames.length + 1}</code></p>`}`;
}

const gameKey = ({ iteration, candidate }: { readonly iteration: number; readonly candidate: number }) =>
  `${iteration}/${candidate}`;

function transcript(game: GameRecord, calls: readonly CallRecord[]): Content {
  const { episode, last, length, score, turns } = game;
  const unclearCount = turns.filter(({ valid }) => valid === false).length;
  // If a turn has two calls, the later one counts: it was made after resuming.
  const callByAttempt = new Map(calls.map((call) => [call.attempt, call]));
  return html`<details class="proposal" id="game-${episode + 1}">
<summary><span class="where">${episode + 1}</span>
<span class="score">${formatReturn(score ?? game.return)}</span>
<span class="chips">${endChip(game)}${unclearCount > 0 && html`<span class="chip warn">${formatCount(unclearCount)} unclear</span>`}</span>
<span class="reason">${plural(length, 'step')}: ${excerpt(last)}</span></summary>
<div class="attempts">
<p class="evaluated">Seed ${game.seed}, return <b>${formatReturn(game.return)}</b>${score !== undefined && html`, score <b>${formatReturn(score)}</b>${typeof game.maxScore === 'number' && html` of ${formatReturn(game.maxScore)}`}`}</p>
${turns.map((turn, i) => turnEntry(turn, i, callByAttempt.get(i)))}
<article><h3>End</h3>${preformatted(last)}</article>
</div>
</details>`;
}

export function endingOf({ lost, truncated, won }: GameRecord): 'won' | 'lost' | 'cut' | 'ended' {
  if (won) return 'won';
  if (lost) return 'lost';
  return truncated ? 'cut' : 'ended';
}

function endChip(game: GameRecord): Content | undefined {
  const end = endingOf(game);
  if (end === 'ended') return undefined;
  const chipClass = { won: 'good', lost: 'bad', cut: 'warn' }[end];
  return html`<span class="chip ${chipClass}">${end === 'cut' ? 'cut off by a limit' : end}</span>`;
}

function turnEntry(turn: GameTurn, index: number, call: CallRecord | undefined): Content {
  const { message, reply, reward, valid } = turn;
  const takenAction = turnActionText(turn);
  const shownReply = reply !== undefined && reply.trim() !== takenAction ? reply : undefined;
  return html`<article>
<h3>Turn ${index + 1} ${reward !== 0 && html`<span class="chip ${reward > 0 ? 'good' : 'bad'}">${reward > 0 ? '+' : ''}${formatNumber(reward)}</span>`}${valid === false && html`<span class="chip warn">names no action</span>`}</h3>
${preformatted(message)}
${shownReply !== undefined && html`<h4>Reply</h4>${shownReply === '' ? html`<p class="muted">(empty)</p>` : preformatted(shownReply)}`}
<p class="evaluated">${takenAction === undefined ? html`<span class="muted">No step was taken.</span>` : html`<b>${'>'} ${takenAction}</b>${valid === false && html` <span class="muted">(fallback action)</span>`}`}${call && callText(call)}</p>
</article>`;
}

/** Formats an action, in words if possible; undefined if no step was taken. */
export function turnActionText({ action, words }: GameTurn): string | undefined {
  if (action === undefined) return undefined;
  if (words !== undefined) return words;
  return typeof action === 'object' ? action.map((value) => formatNumber(value)).join(', ') : String(action);
}

function callText({ completion, outcome }: CallRecord): Content {
  const { completionTokens, promptTokens } = completion?.usage ?? {};
  const tokens =
    promptTokens === undefined
      ? ''
      : `${formatCount(promptTokens)} tokens in${completionTokens ? `, ${formatCount(completionTokens)} out` : ''}`;
  const error = outcome.kind === 'error' ? `the call failed: ${outcome.message.slice(0, 300)}` : '';
  const facts = [tokens, error].filter((fact) => fact !== '');
  return html` <span class="muted">· ${facts.join(' · ')}</span>`;
}
