/** What became of requests to runs, in words. */
import { shownPath } from '../base/context.js';
import { controlledText } from '../runs/control.js';
import type { Steered } from './steer.js';

const expected = {
  pause: 'pauses when its iteration is done',
  resume: 'goes on in a moment',
  stop: 'ends when the calls under way are answered',
  set: 'changes when its iteration is done',
} as const;

/** `buffers/cartpole  paused after iteration 12`. */
export function steeredText({ action, event, outcome, run, status }: Steered, cwd: string): string {
  const name = shownPath(run, cwd);
  if (outcome === 'ended') return `${name}  came to its end before (${status})`;
  if (event === undefined) return `${name}  asked: it ${expected[action]}`;
  const isRefused = event.changes?.length === 0;
  return `${name}  ${isRefused ? 'nothing changed' : controlledText(event)}`;
}
