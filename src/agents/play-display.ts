/** Shows the progress of a play run: a bar on a terminal, plain lines elsewhere, or JSON with `--json`. */
import type { CommandContext } from '../base/context.js';
import { formatCompact, formatReturn, plural } from '../base/text/numbers.js';
import { createProgress, type ProgressMode } from '../base/text/progress.js';
import type { RunEvent } from '../runs/events.js';
import { alertText, rateText } from '../studies/run-progress.js';
import type { PlayDisplay } from './play-games.js';
import { playMeans } from './play-result.js';

export function createPlayDisplay(
  mode: ProgressMode,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>,
): PlayDisplay {
  const progress = createProgress(mode, context);
  let calls = 0;
  return {
    show(event, games) {
      progress.emit(withoutBulk(event));
      switch (event.kind) {
        case 'run-started':
          progress.say(`${event.environment}, ${plural(event.iterations, 'game')}, ${event.model}`);
          progress.begin({ label: 'game', total: event.iterations, value: event.resumedAt ?? 0 });
          break;
        case 'call-finished':
          calls++;
          if (calls % callsBetween === 0) progress.update(games.length, [`${formatCompact(calls)} calls`]);
          break;
        case 'game-finished': {
          const { meanReturn, meanScore } = playMeans(games);
          const figure =
            meanScore === null
              ? `mean return ${formatReturn(meanReturn!)}`
              : `mean score ${formatReturn(meanScore)}`;
          progress.update(games.length, [figure, `${event.game.length} steps`]);
          break;
        }
        case 'rate-limited':
          progress.pause(rateText(event), 1000 * event.seconds);
          break;
        case 'warning':
        case 'fault':
          progress.alert(alertText(event));
          break;
        default:
      }
    },
    close: () => progress.close(),
  };
}

const callsBetween = 20;

/** An event as `--json` prints it; conversations stay in the run directory. */
function withoutBulk(event: RunEvent): object {
  if (event.kind === 'game-finished') {
    const { last: _last, turns: _turns, ...game } = event.game;
    return { kind: event.kind, game };
  }
  if (event.kind !== 'call-finished') return event;
  const { completion, messages: _messages, ...call } = event.call;
  if (completion === undefined) return { kind: event.kind, call };
  const { text: _text, reasoning: _reasoning, ...rest } = completion;
  return { kind: event.kind, call: { ...call, completion: rest } };
}
