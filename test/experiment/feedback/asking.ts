/** A person for tests, and what was asked of anybody. */
import type { ConfigInput } from '../../../src/config/config.js';
import { readRun } from '../../../src/runs/reader.js';
import { quick } from '../../support/experiments.js';

/** Asks a person three times. */
export const asking = {
  ...quick,
  model: { provider: 'ollama', name: 'scripted' },
  feedback: { from: 'person', every: 2 },
} as const satisfies ConfigInput;

export const lines = ['4: too jerky', '', 'the cart drifts'];

/** Types its lines one after the other, and keeps what it was shown. */
export function typist(typed: readonly (string | undefined)[]) {
  const shown: string[] = [];
  const left = [...typed];
  return {
    shown,
    note: (text: string) => shown.push(text),
    ask: async (text: string) => {
      shown.push(text);
      return left.shift();
    },
  };
}

export const feedbackCalls = (path: string) =>
  readRun(path).calls.filter(({ purpose }) => purpose === 'feedback');
