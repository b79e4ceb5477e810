/** Transcripts of a play's games: observations, replies, actions and rewards. */
import { type Html, html, preformatted } from '../format/html.js';
import { formatCount, formatNumber, formatReturn, plural } from '../format/numbers.js';
import type { CallRecord } from '../runs/calls.js';
import type { GameRecord, GameTurn } from '../runs/events.js';

/** Maximum number of characters of all transcripts together, so that the page opens quickly. */
const mostCharacters = 4_000_000;

export function transcripts(games: readonly GameRecord[], calls: readonly CallRecord[], run: string): Html {
  if (games.length === 0) return html`<p class="empty">No game was finished.</p>`;
  const [first] = calls;
  const system = first?.messages[0]?.role === 'system' ? first.messages[0].content : undefined;
  const byGame = new Map<string, CallRecord[]>();
  for (const call of calls) {
    const key = placeOf(call);
    const own = byGame.get(key);
    if (own === undefined) byGame.set(key, [call]);
    else own.push(call);
  }
  let left = mostCharacters;
  const shown = games.filter((game) => {
    left -= game.turns.reduce((sum, { message, reply = '' }) => sum + message.length + reply.length, 0);
    return left >= 0;
  });
  const isScored = games.some(({ score }) => score !== undefined);
  return html`${system !== undefined && html`<details><summary>What the model is told first <span class="muted">${plural(system.length, 'character')}</span></summary>${preformatted(system)}</details>`}
<p class="log-head" aria-hidden="true"><span>game</span><span>${isScored ? 'score' : 'return'}</span><span></span><span>how it ended</span></p>
${shown.map((game) => transcript(game, byGame.get(placeOf(game)) ?? []))}
${shown.length < games.length && html`<p class="note">${plural(games.length - shown.length, 'game')} more would fill the page: <code>policyloop show ${run} --game ${shown.length + 1}</code></p>`}`;
}

const placeOf = ({ iteration, candidate }: { readonly iteration: number; readonly candidate: number }) =>
  `${iteration}/${candidate}`;

function transcript(game: GameRecord, calls: readonly CallRecord[]): Html {
  const { episode, last, length, score, turns } = game;
  const unclear = turns.filter(({ valid }) => valid === false).length;
  // The later of two calls for the same turn counts, because a resumed play asked again.
  const callOf = new Map(calls.map((call) => [call.attempt, call]));
  return html`<details class="proposal" id="game-${episode + 1}">
<summary><span class="where">${episode + 1}</span>
<span class="score">${formatReturn(score ?? game.return)}</span>
<span class="chips">${endChip(game)}${unclear > 0 && html`<span class="chip warn">${formatCount(unclear)} unclear</span>`}</span>
<span class="reason">${plural(length, 'step')}: ${oneLine(last)}</span></summary>
<div class="attempts">
<p class="evaluated">Seed ${game.seed}, return <b>${formatReturn(game.return)}</b>${score !== undefined && html`, score <b>${formatReturn(score)}</b>${typeof game.maxScore === 'number' && html` of ${formatReturn(game.maxScore)}`}`}</p>
${turns.map((turn, i) => turnEntry(turn, i, callOf.get(i)))}
<article><h4>End</h4>${preformatted(last)}</article>
</div>
</details>`;
}

export function ending({ lost, truncated, won }: GameRecord): 'won' | 'lost' | 'cut' | 'ended' {
  if (won) return 'won';
  if (lost) return 'lost';
  return truncated ? 'cut' : 'ended';
}

function endChip(game: GameRecord): Html | undefined {
  const end = ending(game);
  if (end === 'ended') return undefined;
  const mark = { won: 'good', lost: 'bad', cut: 'warn' }[end];
  return html`<span class="chip ${mark}">${end === 'cut' ? 'cut by a limit' : end}</span>`;
}

function turnEntry(turn: GameTurn, index: number, call: CallRecord | undefined): Html {
  const { message, reply, reward, valid } = turn;
  const done = actionText(turn);
  const said = reply !== undefined && reply.trim() !== done ? reply : undefined;
  return html`<article>
<h4>Turn ${index + 1} ${reward !== 0 && html`<span class="chip ${reward > 0 ? 'good' : 'bad'}">${reward > 0 ? '+' : ''}${formatNumber(reward)}</span>`}${valid === false && html`<span class="chip warn">names no action</span>`}</h4>
${preformatted(message)}
${said !== undefined && html`<h5>Reply</h5>${said === '' ? html`<p class="muted">(empty)</p>` : preformatted(said)}`}
<p class="evaluated">${done === undefined ? html`<span class="muted">No step was taken.</span>` : html`<b>&gt; ${done}</b>${valid === false && html` <span class="muted">(not the reply’s)</span>`}`}${call && callText(call)}</p>
</article>`;
}

/** An action in words, or its numbers; undefined if no step was taken. */
export function actionText({ action, words }: GameTurn): string | undefined {
  if (action === undefined) return undefined;
  if (words !== undefined) return words;
  return typeof action === 'object' ? action.map((value) => formatNumber(value)).join(', ') : String(action);
}

/** Maximum number of scored choices to show. */
const mostScored = 4;

function callText({ completion, outcome }: CallRecord): Html {
  const { completionTokens, promptTokens } = completion?.usage ?? {};
  const tokens =
    promptTokens === undefined
      ? ''
      : `${formatCount(promptTokens)} tokens in${completionTokens ? `, ${formatCount(completionTokens)} out` : ''}`;
  const scored = outcome.kind === 'accepted' ? (outcome.scored ?? []) : [];
  const likeliest = scored
    .toSorted((a, b) => b.probability - a.probability)
    .slice(0, mostScored)
    .map(({ probability, text }) => `${text} ${(100 * probability).toFixed(0)} %`);
  const error = outcome.kind === 'error' ? `the call failed: ${outcome.message.slice(0, 300)}` : '';
  const facts = [...likeliest, tokens, error].filter((fact) => fact !== '');
  return html` <span class="muted">· ${facts.join(' · ')}</span>`;
}

const oneLine = (text: string): string => text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200);
