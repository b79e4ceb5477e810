/** A language model in the policy: what it is told of an environment, and what its replies mean there. */
import { short } from '../environments/catalogue/facts.js';
import type { Action, EnvironmentSpec, Observation, Space, TextInfo } from '../environments/environment.js';
import { type Choice, listedChoices } from './choices.js';
import { type Reading, readAction } from './reading.js';

/** What is known beside an observation. */
export interface Moment {
  /** The actions that can be taken now, where they can be listed. */
  readonly choices?: readonly Choice[] | undefined;
  /** Of a text world. */
  readonly info?: TextInfo | undefined;
  /** Steps that were taken before. */
  readonly steps: number;
  /** The reward of the last one; undefined before the first. */
  readonly reward?: number | undefined;
}

/** Three functions make an agent; the others have a default. */
export interface Agent {
  /**
   * What the model is told before everything else; an empty text stands for nothing.
   * @param objective of a text world's game, where the first turn, which says it, is not shown any more
   */
  systemPrompt(objective?: string): string;
  formatObservation(observation: Observation, moment: Moment): string;
  /**
   * The action that a reply names; undefined where it names none.
   * @param choices those that can be taken now, where they can be listed
   */
  extractAction(reply: string, choices?: readonly Choice[]): Action | undefined;
  /** The actions that can be taken now; left out, the numbers of the space, or what a text world admits. */
  choices?(info?: TextInfo): readonly Choice[] | undefined;
  /** What a model is told whose reply named no action, where it is asked again. */
  askAgain?(choices?: readonly Choice[]): string;
}

/** An agent for any environment: it shows observations as they are, and takes the last action that a reply names. */
export function genericAgent(
  { observationSpace, actionSpace }: EnvironmentSpec,
  reading: Reading = 'text',
): Required<Agent> {
  const choices = (info?: TextInfo) => listedChoices(actionSpace, undefined, info);
  return {
    systemPrompt(objective) {
      const json = reading === 'json' ? 'Reply with JSON: {"action": …}.' : '';
      const words = actionSpace.kind === 'text' ? '' : `Reply with ${actionWords(actionSpace)}.`;
      const reply = [words, json].filter((text) => text !== '').join(' ');
      return [objective ?? '', reply].filter((text) => text !== '').join('\n');
    },
    formatObservation: (observation) =>
      observationSpace.kind === 'text' ? String(observation) : `Observation: ${shown(observation)}`,
    extractAction: (reply, now = choices()) => readAction(reply, actionSpace, now, reading),
    choices,
    askAgain: defaultAskAgain,
  };
}

/** What a model is told whose reply named no action. */
export function defaultAskAgain(choices?: readonly Choice[]): string {
  const named = choices === undefined ? '' : ` One of: ${choices.map(({ text }) => text).join(', ')}.`;
  return `That names no action that is possible now.${named} Reply with the action.`;
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
