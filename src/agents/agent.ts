/** A language model in the policy: what it is told of an environment, and what its replies mean there. */
import { short } from '../environments/catalogue/facts.js';
import type { Action, EnvironmentSpec, Observation, Space } from '../environments/environment.js';
import { isValidAction } from '../environments/limited-environment.js';

export interface Agent {
  /** What the model is told once, before everything else; an empty text stands for nothing. */
  systemPrompt(): string;
  formatObservation(observation: Observation): string;
  /** The action that a reply names; undefined where it names none. */
  extractAction(reply: string): Action | undefined;
}

/** An agent for any environment: it shows observations as they are, and takes the last action that a reply names. */
export function genericAgent({ observationSpace, actionSpace }: EnvironmentSpec): Agent {
  return {
    systemPrompt: () => (actionSpace.kind === 'text' ? '' : `Reply with ${actionWords(actionSpace)}.`),
    formatObservation: (observation) =>
      observationSpace.kind === 'text' ? String(observation) : `Observation: ${shown(observation)}`,
    extractAction: (reply) => lastAction(reply, actionSpace),
  };
}

const shown = (observation: Observation): string =>
  typeof observation === 'object' ? observation.map(short).join(', ') : String(observation);

function actionWords(space: Exclude<Space, { kind: 'text' }>): string {
  switch (space.kind) {
    case 'discrete': {
      const { n, start = 0 } = space;
      return `your action, a whole number from ${start} to ${start + n - 1}`;
    }
    case 'box':
      return `your action, ${space.low.length === 1 ? 'a number' : `${space.low.length} numbers`}`;
    case 'tuple':
      return `your action, ${space.spaces.length} whole numbers`;
  }
}

const number = /-?\d+(?:\.\d+)?/g;

function lastAction(reply: string, space: Space): Action | undefined {
  if (space.kind === 'text') {
    if (space.choices !== undefined) return lastChoice(reply, space.choices);
    return reply.trim() === '' ? undefined : reply.trim();
  }
  const numbers = (reply.match(number) ?? []).map(Number);
  if (space.kind === 'discrete') return numbers.findLast((value) => isValidAction(value, space));
  const { length } = space.kind === 'box' ? space.low : space.spaces;
  const last = numbers.slice(-length);
  return isValidAction(last, space) ? last : undefined;
}

/** The choice that ends last as words of its own, the longest of those that end there; case makes no difference. */
function lastChoice(reply: string, choices: readonly string[]): string | undefined {
  const text = reply.toLowerCase();
  let found: { readonly choice: string; readonly end: number } | undefined;
  for (const choice of choices) {
    const end = lastEnd(text, choice.toLowerCase());
    if (end === undefined) continue;
    const isLater = found === undefined || end > found.end;
    if (isLater || (end === found?.end && choice.length > found.choice.length)) found = { choice, end };
  }
  return found?.choice;
}

const inWord = /[\p{L}\p{N}_]/u;

/** Where the last occurrence ends that no letter or digit goes on. */
function lastEnd(text: string, words: string): number | undefined {
  for (let at = text.lastIndexOf(words); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(words, at - 1)) {
    const end = at + words.length;
    const isOwn = !inWord.test(text[at - 1] ?? ' ') && !inWord.test(text[end] ?? ' ');
    if (isOwn) return end;
  }
  return undefined;
}
