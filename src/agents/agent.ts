/** Uses a language model as a policy: shows it observations and turns its replies into actions. */
import { formatShort } from '../environments/catalogue/facts.js';
import type { Action, EnvironmentSpec, Observation, Space, TextInfo } from '../environments/environment.js';
import { type Choice, listedChoices, parseAction, type ReplyFormat } from './reading.js';

export interface TurnContext {
  readonly choices?: readonly Choice[] | undefined;
  readonly info?: TextInfo | undefined;
  readonly steps: number;
  /** Reward of the last step; undefined before the first step. */
  readonly reward?: number | undefined;
}

export interface Agent {
  /** The system prompt; '' for none. In text worlds, `objective` is passed once the first turn is no longer shown. */
  systemPrompt(objective?: string): string;
  formatObservation(observation: Observation, context: TurnContext): string;
  /** The action that a reply names (one of `choices`, if given); undefined if it names none. */
  extractAction(reply: string, choices?: readonly Choice[]): Action | undefined;
  /** The currently possible actions, if they can be listed. */
  choices(info?: TextInfo): readonly Choice[] | undefined;
  askAgain(choices?: readonly Choice[]): string;
}

/** Creates an agent for any environment. It shows observations without a template. */
export function genericAgent(
  { observationSpace, actionSpace }: EnvironmentSpec,
  replyFormat: ReplyFormat = 'text',
): Agent {
  const choices = (info?: TextInfo) => listedChoices(actionSpace, undefined, info);
  const request = replyRequest(actionSpace, replyFormat);
  return {
    systemPrompt: (objective) => [objective ?? '', request].filter((text) => text !== '').join('\n'),
    formatObservation: (observation) =>
      observationSpace.kind === 'text' ? String(observation) : `Observation: ${observationText(observation)}`,
    extractAction: (reply, now = choices()) => parseAction(reply, actionSpace, now, replyFormat),
    choices,
    askAgain: askAgainText,
  };
}

function replyRequest(space: Space, replyFormat: ReplyFormat): string {
  const action = space.kind === 'text' ? 'your action' : actionWords(space);
  const plainRequest = space.kind === 'text' ? '' : `Reply with ${action}.`;
  const jsonRequest = replyFormat === 'json' ? 'Reply with JSON: {"action": …}.' : '';
  return [plainRequest, jsonRequest].filter((text) => text !== '').join(' ');
}

function askAgainText(choices?: readonly Choice[]): string {
  const choicesText = choices === undefined ? '' : ` One of: ${choices.map(({ text }) => text).join(', ')}.`;
  return `That names no action that is possible now.${choicesText} Reply with the action.`;
}

export const observationText = (observation: Observation): string =>
  typeof observation === 'object' ? observation.map(formatShort).join(', ') : String(observation);

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
