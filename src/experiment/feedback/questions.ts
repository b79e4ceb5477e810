/** Questions about an episode: rendered from templates for a model, or a few lines of text for a person. */

import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { type FeedbackConfig, framesOf } from '../../config/feedback.js';
import { short } from '../../environments/catalogue/facts.js';
import type { Environment, EnvironmentSpec } from '../../environments/environment.js';
import { isRemote, type RemoteEnvironment } from '../../environments/remote/remote-environment.js';
import { plural } from '../../format/numbers.js';
import type { ChatMessage, Completion, LanguageModel } from '../../models/language-model.js';
import type { ParseFailure } from '../../prompting/answer/parse.js';
import {
  type FeedbackContext,
  readFeedback,
  readTyped,
  type Said,
} from '../../prompting/context/feedback.js';
import type { TaskContext } from '../../prompting/context/prompt-context.js';
import { scoreTexts } from '../../prompting/context/scores.js';
import { trajectoryRows } from '../../prompting/context/trajectory.js';
import type { Encoding } from '../../prompting/notation/encoding.js';
import type { FeedbackPrompts } from '../../prompting/templates/prompt-set.js';
import { canDraw, notDrawn } from '../../rollout/replay.js';
import { isViewed } from '../../runs/requests.js';
import { momentsOf, type SeenEpisode } from './person.js';

/** Builds the question and interprets the answer. */
export interface Questions {
  readonly prompt: (seen: SeenEpisode) => {
    readonly messages: readonly ChatMessage[];
    readonly formatCorrection: (failure: ParseFailure) => string;
  };
  readonly read: (completion: Completion) => Said | ParseFailure;
}

export const isFailure = (said: Said | ParseFailure): said is ParseFailure => 'kind' in said;

export function visionQuestions(parts: {
  readonly config: FeedbackConfig;
  readonly digits: number | undefined;
  readonly prompts: FeedbackPrompts;
  readonly encoding: Encoding;
  readonly stepSeconds: number | undefined;
  readonly task: TaskContext;
}): Questions {
  const { config, digits, encoding, prompts, stepSeconds, task } = parts;
  return {
    prompt({ entry, episode, isBest, record }) {
      const own = entry.returns[episode]!;
      const asText = scoreTexts(digits, [entry.score, own]);
      const context: FeedbackContext = {
        ...task,
        iteration: entry.iteration,
        evaluated: {
          parameters: encoding.text(entry.parameters),
          score: asText(entry.score),
          best: isBest,
        },
        episode: {
          ...{ number: episode + 1, of: entry.returns.length },
          return: asText(own),
          steps: record.actions.length,
          terminated: record.terminated,
        },
        frames: momentsOf(record, framesOf(config), stepSeconds).map(({ step }, i) => ({
          number: i + 1,
          step,
        })),
      };
      const messages: readonly ChatMessage[] = [
        { role: 'system', content: prompts.system(context) },
        { role: 'user', content: prompts.user(context) },
      ];
      return {
        messages,
        formatCorrection: (failure) => prompts.formatCorrection(context, failure),
      };
    },
    read(completion) {
      const reading = readFeedback(completion.text, completion.finishReason);
      return reading.ok ? reading.said : reading.failure;
    },
  };
}

/** Maximum number of steps shown to a person if the environment can't be drawn. */
const shownSteps = 20;

/** Questions for a person. @param isDrawn whether the episode is shown as a picture */
export function personQuestions(environment: Pick<EnvironmentSpec, 'id'>, isDrawn: boolean): Questions {
  return {
    prompt({ entry, episode, isBest, record }) {
      const { iteration, returns, score } = entry;
      const mean =
        returns.length === 1
          ? ''
          : ` of ${returns.length}, the one with the median return; the mean of all returns is ${short(score)}`;
      const lines = [
        `${environment.id}, iteration ${iteration}: episode ${episode + 1}${mean}${isBest ? ', the best so far' : ''}.`,
        `It has ${plural(record.actions.length, 'step')} and a return of ${short(returns[episode]!)}; ${record.terminated ? 'the task ended it' : 'it was cut off at the step limit'}.`,
        ...(isDrawn
          ? []
          : ['', 'step | observation | action | reward', ...trajectoryRows(record, shownSteps)]),
      ];
      return {
        messages: [{ role: 'user', content: lines.join('\n') }],
        formatCorrection: () => 'a rating from 1 to 5, a remark, or both, as in “4: too jerky”',
      };
    },
    read(completion) {
      const typed = readTyped(completion.text);
      return typed.kind === 'said' ? typed.said : { kind: 'no-feedback' };
    },
  };
}

export interface FeedbackAssembly {
  readonly prompts: FeedbackPrompts | undefined;
  /** The model that answers, if it is neither the run's model nor a person. */
  readonly model: LanguageModel | undefined;
}

/**
 * @param place directory of the run, or the parent directory of a future run
 * @param ask asks the person in the terminal; undefined if there is no terminal
 * @throws UserError if feedback must come from a person and nobody can be reached
 */
export function requirePerson(
  { feedback, model }: Pick<Config, 'feedback' | 'model'>,
  place: string,
  ask: CommandContext['ask'],
): void {
  if (feedback?.from !== 'person' || model.provider === 'replayed') return;
  if (ask !== undefined || isViewed(place)) return;
  throw new UserError({
    field: 'feedback.from',
    value: 'person',
    message: "nobody can be asked: this isn't a terminal, and no live view is open",
    alternatives: ['vision'],
    remedy:
      'run the command in a terminal, or start policyloop view first to be asked there; to disable feedback, set feedback=',
  });
}

export const isDrawn = (environment: Environment | RemoteEnvironment): boolean =>
  !isRemote(environment) && canDraw(environment);

/**
 * @param model the model that sees the pictures; undefined if it couldn't be opened
 * @throws UserError if the model can't see images or the environment can't be drawn
 */
export function requirePictures(
  config: Pick<Config, 'feedback' | 'model'>,
  environment: Environment | RemoteEnvironment,
  model: LanguageModel | undefined,
): void {
  if (config.feedback?.from !== 'vision' || config.model.provider === 'replayed') return;
  if (!isDrawn(environment)) throw notDrawn(environment.id, 'feedback.from');
  if (model === undefined || model.seesImages === true) return;
  throw new UserError({
    field: 'feedback.model',
    message: `${model.id} doesn't declare that it can see images (seesImages: true)`,
    alternatives: ['openai', 'ollama', 'a module whose model has seesImages: true'],
    remedy: 'set feedback.model to a model that can see images',
  });
}
