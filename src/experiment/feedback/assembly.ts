/** Checks who gives feedback and whether there is anything to show. */
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import type { Environment } from '../../environments/environment.js';
import { isRemote, type RemoteEnvironment } from '../../environments/remote/remote-environment.js';
import type { LanguageModel } from '../../models/language-model.js';
import type { FeedbackPrompts } from '../../prompting/templates/prompt-set.js';
import { canDraw, notDrawn } from '../../rollout/replay.js';
import { isViewed } from '../../runs/questions.js';

/** The feedback part of an assembly. */
export interface FeedbackAssembly {
  /** Undefined if a person is asked. */
  readonly prompts: FeedbackPrompts | undefined;
  /** The model that answers, if it is neither the run's model nor a person. */
  readonly model: LanguageModel | undefined;
}

/**
 * @param place directory of the run, or the one that will contain it
 * @param ask asks in the terminal; undefined if there is none
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
    message: 'there is nobody to ask: this is no terminal, and no live view is open',
    alternatives: ['vision'],
    remedy: `run it in a terminal, or start policyloop view first, which then asks; feedback= leaves it out`,
  });
}

/** Whether episodes of an environment can be drawn. */
export const isDrawn = (environment: Environment | RemoteEnvironment): boolean =>
  !isRemote(environment) && canDraw(environment);

/**
 * @param model the model that looks at the pictures; undefined if a person is asked
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
    message: `${model.id} does not say that it sees pictures (seesImages: true)`,
    alternatives: ['openai', 'ollama', 'a module whose model has seesImages: true'],
    remedy: 'add feedback.model, a model that reads pictures',
  });
}
